"""What an audit of a lab freezes, and what both sides hold there."""

from collections.abc import Sequence
from dataclasses import replace

from confluent_kafka import Message

from mirrorwatch.audit import freeze
from mirrorwatch.clock import utc_now
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    Lane,
    Plan,
    Request,
    TimeWindow,
)
from mirrorwatch_lab import Lab
from mirrorwatch_lab.cli import describe_agent
from tests.support.watch import wait_until

__all__ = [
    "at_rest",
    "audited_up_to",
    "both_sides",
    "config_of",
    "freeze_night",
    "freeze_window",
    "lanes_of",
]


def config_of(lab: Lab, settle: str = "0s", **clusters: object) -> Config:
    """Return the configuration of an agent that audits a lab."""
    data = describe_agent(lab)
    data["flows"][0]["topics"] = {"exclude": [r"mm2.*\.internal", "__.*"]}
    data["audit"] = {"settle": settle}
    data["clusters"] |= clusters
    return Config.from_mapping(data)


def freeze_night(
    lab: Lab, ends: AuditedEnds, topics: str | None = None, settle: str = "0s"
) -> Plan:
    """Plan the next night."""
    return freeze(
        config_of(lab, settle), Request(topics=topics), ends, clock=utc_now
    )


def freeze_window(lab: Lab, topic: str, window: TimeWindow) -> Plan:
    """Plan an audit of what one topic holds of a window."""
    request = Request(window=window, topics=topic)
    return freeze(config_of(lab), request, AuditedEnds(), clock=utc_now)


def at_rest(lab: Lab, ends: AuditedEnds, topics: str) -> None:
    """Wait until the mirror says that it copied all of these topics."""
    positions: dict[str, int | None] = {}

    def is_so() -> bool:
        plan = freeze_night(lab, ends, topics)
        positions.update(
            (lane.topic, lane.sources[0].position) for lane in plan.lanes
        )
        return all(lane.cut == "idle" for lane in plan.lanes)

    wait_until(is_so, what=lambda: f"not all rest: {positions}")


def audited_up_to(ends: AuditedEnds, topic: str, offset: int) -> AuditedEnds:
    """Return the same ends as if audits had come no further in a topic."""
    return replace(
        ends,
        ends=tuple(
            replace(end, source_end=offset, target_end=offset)
            if end.topic == topic
            else end
            for end in ends.ends
        ),
    )


def lanes_of(plan: Plan, topic: str) -> dict[int, Lane]:
    """Return the lanes of one topic by partition."""
    return {x.partition: x for x in plan.lanes if x.target_topic == topic}


def both_sides(lab: Lab, lane: Lane) -> tuple[list[object], list[object]]:
    """Return what a lane holds on both sides, by plain consumers."""
    (source,) = lane.sources
    records = {
        side: [
            record
            for record in site.topics.read(lane.target_topic)
            if record.partition() == lane.partition
        ]
        for side, site in (("source", lab.source), ("target", lab.target))
    }
    return (
        [*_contents(records["source"], source.span)],
        [*_contents(records["target"], lane.span)],
    )


def _contents(
    records: Sequence[Message], span: AuditSpan
) -> list[bytes | None]:
    return [
        record.value()
        for record in records
        if span.start <= (record.offset() or 0) < span.end
    ]
