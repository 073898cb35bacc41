"""Audit: what the last nights found."""

from mirrorwatch.domain.audit import metrics as audit
from mirrorwatch.domain.samples import CHECK_HEALTH

from .. import limits
from ..panels import Age, Board, Gauge, Panel, Picture, Query, Unit
from .choices import FLOW

__all__ = ["AUDIT"]


MEANINGS = {
    "dropped": "Source records that are nowhere at the target.",
    "corrupted": "Records that are altered at the target.",
    "extra": "Target records that are nowhere at the source.",
    "duplicated": "Copies beyond the first.",
}
"""What each kind of finding is, for a reader."""


def _sum(kind: str, label: str = "") -> Query:
    return Query(
        label=label, reading=Gauge(metric=audit.IN_ALL, where={"kind": kind})
    )


def _found(kind: str) -> Panel:
    return Panel(
        title=f"How many records are {kind}?",
        description=(
            f"{MEANINGS[kind]} By the last audit that came to its end, of all"
            " topics. No data before the first one."
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
    panels=(
        Panel(
            title="When did the last audit end?",
            description=(
                "Whatever it found. A night that was missed is said by the"
                " check `audit`."
            ),
            picture=Picture.NUMBER,
            unit=Unit.MOMENT,
            check="audit",
            queries=(Query(reading=Age(metric=audit.LAST_SUCCESS)),),
            width=4,
            height=4,
        ),
        *(_found(kind) for kind in audit.FOUND),
        Panel(
            title="How much is unjudged? (offsets)",
            description=(
                "Source offsets of which the last audit could not tell. It is"
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
            title="What did the check say of each night?",
            description=(
                "Critical where something is wrong, warning where a night was"
                " missed or could not judge everything. Off where no audit is"
                " configured."
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
            title="What did each night find? (records, offsets)",
            description=(
                "Findings stand until the next audit came to its end, which"
                " looks at newer records: a fall does not say that old ones"
                " were mended."
            ),
            picture=Picture.LINES,
            check="audit",
            queries=tuple(_sum(kind, kind) for kind, _ in _COLUMNS),
            width=24,
        ),
        Panel(
            title="Which topics are concerned? (records, offsets)",
            description=(
                "What the last audit found in each topic; no data where it"
                " found nothing. Offsets of single records are in its report."
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
