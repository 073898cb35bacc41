"""Both sides apart: each site sums up its own, and only that travels."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit.plan import AuditedEnds, Plan, Request, Side
from mirrorwatch.domain.audit.result import Crossing
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import from_versioned, to_versioned

from .compare.audit import JudgedAudit, digest_side, judge
from .compare.digests import bucket_length, comparable, timed_by_target
from .digest.digest import reading_of
from .job import SideDigest, digest_readable
from .session import translated
from .store.store import HadoopFolder
from .tools import Tools

__all__ = ["Split"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Digested:
    """What was summed up on one side."""

    side: Side
    request: Request
    plan: Plan

    lines: int
    records: int


class Split:
    """Digests each side into a folder, and compares two folders.

    Parameters
    ----------
    tools
        What to work with.
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

    def digest(
        self,
        side: Side,
        request: Request,
        folder: str,
        *,
        read_committed: bool,
    ) -> Crossing:
        """Digest one side; only its clusters are asked."""
        tools, out = self._tools, HadoopFolder(self._session, folder)
        with tools.progress.stage("Freezing the ranges"):
            plan = tools.planner.freeze_side(
                request, side, read_committed=read_committed
            )
        if not plan.pairs:
            raise AuditError(
                f"There is nothing to digest: the {side} has no topic that "
                "is carried and was asked for"
            )
        out.delete("digested")
        with tools.progress.stage(f"Reading the {side}"):
            keep = self._keep(out, side)
            with translated(f"Cannot sum up the {side}"):
                keep(
                    digest_side(
                        tools.read, plan, side, bucket=tools.settings.bucket
                    )
                )
        return self._finish(out, side, request, plan)

    def ship(self, plan: Plan, folder: str) -> None:
        """Write a frozen plan for the sites that digest it."""
        out = HadoopFolder(self._session, folder)
        out.write_text("plan", to_versioned(plan))

    def digest_plan(self, side: Side, plan: str, folder: str) -> Crossing:
        """Digest one side of the plan in a folder; only its clusters are
        asked. One that is there already is not made again.
        """
        tools, out = self._tools, HadoopFolder(self._session, folder)
        frozen = self._shipped(plan)
        with suppress(AuditError):
            kept = self._digested(out, side).plan
            if (kept.id, kept.at) == (frozen.id, frozen.at):
                return self._crossing(out, side)
        out.delete("digested")
        with tools.progress.stage(f"Reading the {side}"):
            read, _ = digest_readable(
                tools,
                frozen,
                side,
                keep=self._keep(out, side),
                leave_out=lambda _: None,
            )
        return self._finish(out, side, Request(), read)

    def frozen(
        self, source: str, target: str
    ) -> tuple[Mapping[Side, SideDigest], tuple[Crossing, ...]] | None:
        """Return the digests of a plan that was frozen before; `None` if
        they are of a window.
        """
        sides: Mapping[Side, HadoopFolder] = {
            "source": HadoopFolder(self._session, source),
            "target": HadoopFolder(self._session, target),
        }
        found = {
            side: self._digested(folder, side)
            for side, folder in sides.items()
        }
        if any(
            digested.plan.window is not None for digested in found.values()
        ):
            return None
        digests = {
            side: SideDigest(plan=found[side].plan, table=_table(folder))
            for side, folder in sides.items()
        }
        bucket_length(*(digest.table for digest in digests.values()))
        crossings = [self._crossing(sides[side], side) for side in sides]
        return digests, tuple(crossings)

    def compare(
        self, source: str, target: str
    ) -> tuple[JudgedAudit, tuple[Crossing, ...]]:
        """Compare the folders of two sides; both clusters are asked."""
        tools = self._tools
        began = tools.clock()
        folders = [
            HadoopFolder(self._session, source),
            HadoopFolder(self._session, target),
        ]
        sides: tuple[Side, Side] = ("source", "target")
        digested = [
            self._digested(folder, side)
            for folder, side in zip(folders, sides, strict=True)
        ]
        asked = digested[0].request
        if asked != digested[1].request:
            raise AuditError(
                f"{source} and {target} are not of the same window, flow and "
                "topics: make them again with the same options on both sides"
            )
        with tools.progress.stage("Freezing the ranges"):
            plan = tools.planner.freeze(asked, AuditedEnds())
        tables = [_table(folder) for folder in folders]
        bucket_length(*tables)
        with translated("Cannot look at the timestamps of the target"):
            own = timed_by_target(tools.read, plan.pairs, tables[1])
        judged = judge(
            tools,
            comparable(
                plan,
                digested[0].plan,
                digested[1].plan,
                own,
            ),
            *tables,
            began=began,
        )
        crossings = tuple(map(self._crossing, folders, sides))
        return judged, crossings

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

    def _finish(
        self, out: HadoopFolder, side: Side, request: Request, plan: Plan
    ) -> Crossing:
        """Say what a digest is of. Last, because it makes the folder count."""
        table = _table(out)
        digested = _Digested(
            side=side,
            request=request,
            plan=plan,
            lines=table.count(),
            records=reading_of(table).records,
        )
        out.write_text("digested", to_versioned(digested))
        return self._crossing(out, side)

    def _shipped(self, folder: str) -> Plan:
        at = HadoopFolder(self._session, folder)
        for text in at.read_texts("plan"):
            return from_versioned(Plan, text, at.url)
        raise AuditError(
            f"{at.url} has no plan: make one with mirrorwatch audit freeze, "
            "and bring it here"
        )

    def _digested(self, folder: HadoopFolder, side: Side) -> _Digested:
        texts = folder.read_texts("digested")
        if not texts:
            raise AuditError(
                f"{folder.url} has no digest that came to its end: make it "
                "with mirrorwatch audit digest"
            )
        found = from_versioned(_Digested, texts[0], folder.url)
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
        parts = ("digest", "digested")
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
