"""Records by Spark's own Kafka source."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit import Lane, Side

from .records import RECORDS

__all__ = ["KafkaReader"]


class KafkaReader:
    """Reads the records of lanes from their clusters.

    Parameters
    ----------
    session
        Spark.
    clusters
        librdkafka's properties of each cluster, by alias.
    """

    def __init__(
        self,
        session: SparkSession,
        clusters: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._session = session
        self._clusters = clusters

    def __call__(self, lanes: Sequence[Lane], side: Side) -> DataFrame:
        return self._session.createDataFrame([], RECORDS)
