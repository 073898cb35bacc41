"""The records of lanes, whoever reads them."""

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from mirrorwatch.domain.audit import Lane, Side

__all__ = ["RECORDS", "Read"]

RECORDS = (
    "flow string, target_topic string, partition int, origin string, "
    "topic string, offset bigint, timestamp bigint, key binary, "
    "value binary, headers array<struct<key: string, value: binary>>"
)
"""What a record is: its lane (`flow`, `target_topic`, `partition`), the flow
that copies it (`origin`: the lane's but for merged topics), where it was read
(`topic`, `offset`), milliseconds since 1970 (-1 where it has none), and what
is compared."""


class Read(Protocol):
    """Reads records; `KafkaReader` from Kafka, tests from memory."""

    def __call__(self, lanes: Sequence[Lane], side: Side) -> DataFrame:
        """Return the records of one side that lie in the lanes' spans.

        Parameters
        ----------
        lanes
            What to read: ``span`` of each lane for the target, of each of
            its sources for the source. A narrower or a wider reading is a
            lane with other spans.
        side
            Which side.

        Returns
        -------
        DataFrame
            Columns as in `RECORDS`; empty for no lanes.
        """
        ...
