"""Both sides apart: each site sums up its own, and only that travels."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit.plan import AuditedEnds, Plan, Request, Side
from mirrorwatch.domain.audit.result import Crossing
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import from_versioned, to_versioned

from .compare.audit import JudgedAudit, digest_side, judge
from .compare.digests import bucket_length, comparable
from .digest.digest import reading_of, stamped
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
        digested = _Digested(side=side, request=request, plan=plan)
        doing = tools.progress.stage(f"Reading the {side}")
        failing = f"Cannot sum up the {side}"
        with doing, translated(failing):
            digest = digest_side(
                tools.read, plan, side, bucket=tools.settings.bucket
            )
            # Few rows: a file for each task would be larger than they are.
            out.write_table("digest", digest.coalesce(1), failing=failing)
        # Last, because it is what makes the folder count.
        out.write_text("digested", to_versioned(digested))
        return self._crossing(out, side)

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
        judged = judge(
            tools,
            comparable(
                plan,
                digested[0].plan,
                digested[1].plan,
                stamped(tables[1]),
            ),
            *tables,
            began=began,
        )
        crossings = tuple(map(self._crossing, folders, sides))
        return judged, crossings

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
    # That an older one is of no use is told by what compares them.
    digest = folder.read_table("digest", oldest=1)
    if digest is None:
        raise AuditError(f"{folder.url} is not whole: its digest is missing")
    return digest
