"""Audit: findings of the last nights."""

from mirrorwatch.domain.audit import metrics as audit
from mirrorwatch.domain.audit.flow_result import ERRORS
from mirrorwatch.domain.audit.result import FindingKind
from mirrorwatch.domain.samples import CHECK_HEALTH

from .. import limits
from ..panels import FLOW, Board, Panel, Query, lines, number, states, table

__all__ = ["AUDIT"]


BY_KIND = (*audit.FOUND.items(), (audit.UNJUDGED, audit.UNVERIFIABLE))


def _in_all(kind: str, label: str = "") -> Query:
    return Query(audit.IN_ALL, label, where={"kind": kind})


def _found(kind: FindingKind) -> Panel:
    return number(
        f"{kind.capitalize()} records",
        _in_all(kind),
        note=f"{audit.FOUND[kind].help}, of all topics. No data before the"
        " first one.",
        limits=limits.ANY,
    )


AUDIT = Board(
    name="audit",
    title="mirrorwatch: audit",
    description="Findings of the nightly comparison of both sides.",
    variables=(FLOW,),
    hours=24 * 30,
    # It changes once a night.
    refresh="5m",
    first=(
        number(
            "Last completed audit",
            Query(audit.LAST_SUCCESS),
            note="The check `audit` reports a night that was missed.",
        ),
        *(_found(kind) for kind in ERRORS),
        number(
            "Unverifiable offsets",
            _in_all(audit.UNJUDGED),
            note=f"{audit.UNVERIFIABLE.help}. An audit is not clean while"
            " there are any.",
            limits=limits.SOME,
        ),
        states(
            "Verdict of the check",
            Query(
                CHECK_HEALTH,
                by=("flow", "check"),
                where={"check": "audit"},
                minimum=0,
            ),
            note="Critical where something is wrong, warning where a night was"
            " missed or could not be verified completely.",
            check="audit",
            width=24,
            height=4,
        ),
        lines(
            "Findings of each night",
            *(_in_all(kind, kind) for kind, _ in BY_KIND),
            note="Findings stay until the next audit is complete, which"
            " compares newer records: a drop does not mean that old ones were"
            " repaired.",
            width=24,
        ),
        table(
            "Findings by topic",
            *(
                Query(metric, kind, by=("flow", "topic"))
                for kind, metric in BY_KIND
            ),
            note="No data where the audit found nothing. Its report has the"
            " offsets of single records.",
        ),
    ),
)
