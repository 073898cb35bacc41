"""From two digests to a result: compare, then look whether it still holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame

from mirrorwatch.domain.audit import (
    AuditResult,
    Ends,
    Finding,
    FinishedAudit,
    Hours,
    Plan,
    Speed,
    Stated,
    Unverifiable,
)

from .audit import compare
from .comparison import Comparison
from .errors import translated
from .figures import Reading, hours_of, reading_of
from .tools import Tools

__all__ = ["Judged", "judge"]

NOTHING = Ends()


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What two digests say."""

    audit: FinishedAudit
    """What was found."""

    hours: Hours
    """Records by topic and hour."""

    carry: DataFrame
    """What the next night compares in place of this one."""


def judge(
    tools: Tools,
    plan: Plan,
    source: DataFrame,
    target: DataFrame,
    *,
    began: datetime,
    before: Ends = NOTHING,
    carry: DataFrame | None = None,
) -> Judged:
    """Compare two digests.

    Parameters
    ----------
    tools
        What to work with.
    plan
        What was digested.
    source
        Digest of the source.
    target
        Digest of the target.
    began
        When the run began to read.
    before
        Up to where partitions were audited.
    carry
        What the night before left to this one.

    Raises
    ------
    AuditError
        Raised if Spark fails.
    SourceError
        Raised if a cluster cannot be asked.
    """
    read = tools.clock()
    doing = tools.progress.stage("Comparing")
    with doing, translated("Cannot compare"):
        found = compare(
            tools.read,
            plan,
            source,
            target,
            carry=carry,
            keys=tools.settings.keys,
        )
        readings = [reading_of(source), reading_of(target)]
        hours = hours_of(plan, source, target)
    with tools.progress.stage("Looking whether anything expired meanwhile"):
        gone = tools.planner.recheck(plan)
    ended = tools.clock()
    speed = Speed(
        records=sum(reading.records for reading in readings),
        bytes=sum(reading.bytes for reading in readings),
        reading=read - began,
        total=ended - began,
        covered=_covered(plan, before, readings),
    )
    result = _result(plan, found, gone, readings, began=began, ended=ended)
    audit = FinishedAudit(result=result, speed=speed)
    return Judged(audit=audit, hours=hours, carry=found.carry)


def _result(
    plan: Plan,
    found: Comparison,
    gone: Sequence[Unverifiable],
    readings: Sequence[Reading],
    *,
    began: datetime,
    ended: datetime,
) -> AuditResult:
    # What went while it was read is unknown, whatever was found of it.
    void = {(gap.flow, gap.topic, gap.partition) for gap in gone}
    times = [r.earliest for r in readings if r.earliest is not None]
    window = plan.window
    return AuditResult(
        id=plan.id,
        nightly=window is None,
        start=window.start if window else min([plan.at, *times]),
        end=window.end if window else plan.at,
        began_at=began,
        ended_at=ended,
        topics=found.topics,
        findings=tuple(f for f in found.findings if not _is_void(f, void)),
        stated=(
            *plan.stated,
            *(s for s in found.stated if not _is_void(s, void)),
        ),
        unverifiable=(*plan.unverifiable, *found.unverifiable, *gone),
        more=plan.more,
    )


def _covered(
    plan: Plan, before: Ends, readings: Sequence[Reading]
) -> timedelta:
    """Return in how much time the records that were read were written."""
    if plan.window is not None:
        return plan.window.end - plan.window.start
    end = max((lane.cut_at or plan.at for lane in plan.lanes), default=plan.at)
    # A record with a timestamp of years ago says nothing of last night.
    known = [audited.cut_at for audited in before.ends]
    known = known and [max(known)]
    known = known or [r.earliest for r in readings if r.earliest is not None]
    return max(end - min(known, default=end), timedelta())


def _is_void(
    about: Finding | Stated, void: set[tuple[str, str, int | None]]
) -> bool:
    topic = (about.flow, about.topic)
    return bool({(*topic, about.partition), (*topic, None)} & void)
