"""Small tables of what the driver knows."""

import json
from collections.abc import Iterable, Sequence
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StructType

__all__ = ["small_table"]


def small_table(
    session: SparkSession, rows: Iterable[Sequence[object]], columns: str
) -> DataFrame:
    """Return rows as a table.

    Parameters
    ----------
    session
        Spark.
    rows
        Numbers, strings and nulls, in the order of the columns.
    columns
        Names and types, as Spark's DDL has them.

    Notes
    -----
    `createDataFrame` would do, but it starts Python on the executors: the
    workers of a cluster would need one of the driver's version. Here rows
    travel as JSON in the plan, and Java reads them.
    """
    # Names make a structure of it, and not a plain type.
    schema = cast("StructType", StructType.fromDDL(columns))
    names = schema.fieldNames()
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    parsed = sf.from_json(sf.lit(text), ArrayType(schema))
    one = session.range(0, 1, 1, 1)
    return one.select(sf.inline(parsed))
