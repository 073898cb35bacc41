"""Plans of audits as tests want them."""

from datetime import UTC, datetime

from mirrorwatch.domain.audit.plan import (
    AuditSpan,
    Lane,
    Plan,
    SourceRange,
    TimeWindow,
)

__all__ = ["FROZEN_AT", "a_lane", "a_plan"]

FROZEN_AT = datetime(2026, 11, 21, 2, tzinfo=UTC)


def a_lane(
    topic: str = "events",
    partition: int = 0,
    *,
    source: tuple[int, int] = (0, 10),
    target: tuple[int, int] | None = None,
) -> Lane:
    """A partition that one flow copies under its own name."""
    span = AuditSpan(*source)
    copies = AuditSpan(*(target or source))
    return Lane(
        flow="summit->ldf",
        cluster="ldf",
        target_topic=topic,
        partition=partition,
        sources=(
            SourceRange(
                flow="summit->ldf",
                cluster="summit",
                topic=topic,
                partition=partition,
                span=span,
                retained=span,
                position=span.end,
                topic_id=f"{topic} at summit",
            ),
        ),
        span=copies,
        retained=copies,
        topic_id=f"{topic} at ldf",
    )


def a_plan(
    *lanes: Lane,
    run: str = "nightly-2026-11-21",
    at: datetime = FROZEN_AT,
    window: TimeWindow | None = None,
    more: bool = False,
) -> Plan:
    """What a night compares."""
    return Plan(
        id=run,
        at=at,
        window=window,
        lanes=lanes or (a_lane(),),
        more=more,
    )
