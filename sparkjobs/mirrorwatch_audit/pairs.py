"""Records of both sides, paired copy by copy."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from .digest import LANE

__all__ = ["HASH", "paired"]

HASH = (*LANE, "h1", "h2")
"""What two copies of a record have in common."""

_OWN: tuple[str, ...] = ("origin", "topic", "offset", "timestamp", "bytes")
_OWN += ("k1", "k2", "aborted")


def paired(source: DataFrame, target: DataFrame) -> DataFrame:
    """Return the records of both sides, side by side.

    Parameters
    ----------
    source
        Hashed records of the source.
    target
        Hashed records of the target.

    Returns
    -------
    DataFrame
        `HASH`, and the columns of each side with `s_` or `t_` before them;
        those of a side that lacks this copy are null.

    Notes
    -----
    Copies are numbered by offset on each side, and number n is paired with
    number n. So of three copies of two records the last one is left, and one
    dropped record is left of two that were equal; a join by checksum alone
    would pair all with all. Aborted ones come last: of an aborted record and
    the same one sent again, a copy is that of the second.
    """
    return _numbered(source, "s").join(
        _numbered(target, "t"), [*HASH, "copy"], "full_outer"
    )


def _numbered(records: DataFrame, side: str) -> DataFrame:
    order = Window.partitionBy(*HASH).orderBy(
        "aborted", "offset", "topic", "origin"
    )
    return records.select(
        *HASH,
        sf.row_number().over(order).alias("copy"),
        *(sf.col(own).alias(f"{side}_{own}") for own in _OWN),
    )
