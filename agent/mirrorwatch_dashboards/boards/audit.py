"""Audit: what the last nights found."""

from mirrorwatch.domain.audit import metrics as audit
from mirrorwatch.domain.samples import CHECK_HEALTH

from .. import limits
from ..panels import FLOW, Age, Board, Gauge, Panel, Picture, Query, Unit

__all__ = ["AUDIT"]


MEANINGS = {
    "dropped": "Source records that are missing at the target.",
    "corrupted": "Records that differ at the target.",
    "extra": "Target records that are missing at the source.",
    "duplicated": "Copies beyond the first.",
}
"""Meaning of each kind of finding, for a reader."""


def _sum(kind: str, label: str = "") -> Query:
    return Query(
        label=label, reading=Gauge(metric=audit.IN_ALL, where={"kind": kind})
    )


def _found(kind: str) -> Panel:
    return Panel(
        title=f"{kind.capitalize()} records",
        description=(
            f"{MEANINGS[kind]} By the last completed audit, of all topics. No"
            " data before the first one."
        ),
        picture=Picture.NUMBER,
        limits=limits.ANY,
        check="audit",
        queries=(_sum(kind),),
        width=4,
        height=4,
    )


_COLUMNS = (*audit.FOUND.items(), (audit.UNJUDGED, audit.UNVERIFIABLE))

AUDIT = Board(
    name="audit",
    title="mirrorwatch: audit",
    description="What the nightly comparison of both sides found.",
    variables=(FLOW,),
    hours=24 * 30,
    # It changes once a night.
    refresh="5m",
    first=(
        Panel(
            title="Last completed audit",
            description=(
                "Whatever it found. The check `audit` reports a night that was"
                " missed."
            ),
            picture=Picture.NUMBER,
            unit=Unit.MOMENT,
            check="audit",
            queries=(Query(reading=Age(metric=audit.LAST_SUCCESS)),),
            width=4,
            height=4,
        ),
        *(_found(kind) for kind in MEANINGS),
        Panel(
            title="Unverifiable offsets",
            description=(
                "Source offsets that the last audit could not verify. It is"
                " not clean while there are any; a range of unknown length"
                " counts as one."
            ),
            picture=Picture.NUMBER,
            limits=limits.SOME,
            check="audit",
            queries=(_sum(audit.UNJUDGED),),
            width=4,
            height=4,
        ),
        Panel(
            title="Verdict of the check",
            description=(
                "Critical where something is wrong, warning where a night was"
                " missed or could not be verified completely. Off where no"
                " audit is configured."
            ),
            picture=Picture.STATES,
            unit=Unit.HEALTH,
            check="audit",
            queries=(
                Query(
                    reading=Gauge(
                        metric=CHECK_HEALTH,
                        by=("flow", "check"),
                        where={"check": "audit"},
                    )
                ),
            ),
            width=24,
            height=4,
        ),
        Panel(
            title="Findings of each night (records, offsets)",
            description=(
                "Findings stay until the next audit is complete, which"
                " compares newer records: a drop does not mean that old ones"
                " were repaired."
            ),
            picture=Picture.LINES,
            check="audit",
            queries=tuple(_sum(kind, kind) for kind, _ in _COLUMNS),
            width=24,
        ),
        Panel(
            title="Findings by topic (records, offsets)",
            description=(
                "What the last audit found in each topic; no data where it"
                " found nothing. Its report has the offsets of single records."
            ),
            picture=Picture.TABLE,
            check="audit",
            queries=tuple(
                Query(
                    label=kind,
                    reading=Gauge(metric=metric, by=("flow", "topic")),
                )
                for kind, metric in _COLUMNS
            ),
            width=24,
            height=9,
        ),
    ),
)
