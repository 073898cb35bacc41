"""Both sides apart: each site sums up its own, and only that travels."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit.plan import Plan, Side
from mirrorwatch.domain.audit.result import Crossing
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import from_versioned, to_versioned

from .compare.digests import bucket_length
from .digest.digest import reading_of
from .job import SideDigest, digest_readable
from .store.store import HadoopFolder
from .tools import Tools

__all__ = ["Split"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Digested:
    """Digest totals of one side."""

    side: Side
    plan: Plan
    lines: int
    records: int


class Split:
    """Digests each side of a frozen plan into a folder of its own.

    Parameters
    ----------
    tools
        Tools of the runs.
    session
        Spark.

    Raises
    ------
    AuditError
        Raised by every method if Spark or a folder fails.
    SourceError
        Raised by every method if a cluster cannot be asked.
    """

    def __init__(self, tools: Tools, session: SparkSession) -> None:
        self._tools = tools
        self._session = session

    def ship(self, plan: Plan, folder: str) -> None:
        """Write a frozen plan for the sites that digest it."""
        out = HadoopFolder(self._session, folder)
        out.write_text("plan.json", to_versioned(plan))

    def digest(self, side: Side, plan: str, folder: str) -> Crossing:
        """Digest one side of the plan in a folder; only its clusters are
        asked. One that is there already is not made again.
        """
        tools, out = self._tools, HadoopFolder(self._session, folder)
        frozen = self._shipped(plan)
        with suppress(AuditError):
            kept = self._digested(out, side).plan
            if (kept.id, kept.at) == (frozen.id, frozen.at):
                return self._crossing(out, side)
        out.delete("digested.json")
        with tools.stage(f"Reading the {side}"):
            read, _ = digest_readable(
                tools,
                frozen,
                side,
                keep=self._keep(out, side),
                leave_out=lambda _: None,
            )
        return self._finish(out, side, read)

    def digests(
        self, source: str, target: str
    ) -> tuple[Mapping[Side, SideDigest], tuple[Crossing, ...]]:
        """Return the digests of both sides, and what they cost to bring."""
        sides: Mapping[Side, HadoopFolder] = {
            "source": HadoopFolder(self._session, source),
            "target": HadoopFolder(self._session, target),
        }
        found = {
            side: self._digested(folder, side)
            for side, folder in sides.items()
        }
        digests = {
            side: SideDigest(plan=found[side].plan, table=_table(folder))
            for side, folder in sides.items()
        }
        bucket_length(*(digest.table for digest in digests.values()))
        crossings = [self._crossing(sides[side], side) for side in sides]
        return digests, tuple(crossings)

    def _keep(
        self, out: HadoopFolder, side: Side
    ) -> Callable[[DataFrame], DataFrame]:

        def keep(digest: DataFrame) -> DataFrame:
            # Few rows: a file for each task would be larger than they are.
            out.write_table(
                "digest",
                digest.coalesce(1),
                failing=f"Cannot sum up the {side}",
            )
            return digest

        return keep

    def _finish(self, out: HadoopFolder, side: Side, plan: Plan) -> Crossing:
        """Say what a digest is of. Last, because it makes the folder count."""
        table = _table(out)
        digested = _Digested(
            side=side,
            plan=plan,
            lines=table.count(),
            records=reading_of(table).records,
        )
        out.write_text("digested.json", to_versioned(digested))
        return self._crossing(out, side)

    def _shipped(self, folder: str) -> Plan:
        at = HadoopFolder(self._session, folder)
        text = at.read("plan.json")
        if text is None:
            raise AuditError(
                f"{at.url} has no plan: make one with mirrorwatch audit "
                "freeze, and bring it here"
            )
        return from_versioned(Plan, text, at.url)

    def _digested(self, folder: HadoopFolder, side: Side) -> _Digested:
        text = folder.read("digested.json")
        if text is None:
            raise AuditError(
                f"{folder.url} has no digest that came to its end: make it "
                "with mirrorwatch audit digest"
            )
        found = from_versioned(_Digested, text, folder.url)
        if found.side != side:
            raise AuditError(
                f"{folder.url} is of the {found.side}, not of the {side}: "
                "the source's comes first"
            )
        table = _table(folder)
        # A folder that was copied over another has the files of both.
        read = (table.count(), reading_of(table).records)
        if read != (found.lines, found.records):
            raise AuditError(
                f"{folder.url} is not as digest left it: copy it again, to an "
                "empty folder"
            )
        return found

    def _crossing(self, folder: HadoopFolder, side: Side) -> Crossing:
        read = reading_of(_table(folder))
        parts = ("digest", "digested.json")
        return Crossing(
            side=side,
            records=read.records,
            read_bytes=read.bytes,
            digest_bytes=sum(folder.size_bytes(part) for part in parts),
        )


def _table(folder: HadoopFolder) -> DataFrame:
    digest = folder.read_table("digest")
    if digest is None:
        raise AuditError(f"{folder.url} is not whole: its digest is missing")
    return digest
