"""What `check-config` says about a configuration that is right."""

from typing import Any

from ..config import CanaryConfig, Config, FlowConfig
from ..config.base import HIDDEN
from ..config.cost import estimate_cost
from ..config.display import to_display
from ..config.notes import find_notes
from ..config.overlap import UndecidedError, find_common_topic

__all__ = ["summarize"]

LIKELY_TOPICS = ("lsst.sal.ATDome.position", "orders")
"""Names to show as an example where the flow carries them: better reading
than the shortest name that its regexes allow."""


def summarize(config: Config) -> dict[str, Any]:
    """Return what a configuration means, secrets hidden.

    ``flows`` and ``notes`` say what follows from the configuration;
    ``config`` is all of it, with its defaults.
    """
    return {
        "file": None if config.file is None else str(config.file),
        "flows": [_summarize_flow(flow) for flow in config.flows],
        "notes": find_notes(config),
        "config": to_display(config),
    }


def _summarize_flow(flow: FlowConfig) -> dict[str, Any]:
    topic = _pick_topic(flow)
    return {
        "name": HIDDEN if flow.is_hidden("name") else flow.name,
        "example": {"topic": topic, "target_topic": _rename(flow, topic)},
        "canary": _summarize_canary(flow, flow.canary),
    }


def _summarize_canary(
    flow: FlowConfig, canary: CanaryConfig
) -> dict[str, Any] | None:
    if not canary.enabled:
        return None
    hidden = canary.is_hidden("topic")
    topic = HIDDEN if hidden else canary.topic
    cost = estimate_cost(canary)
    return {
        "topic": topic,
        "target_topic": HIDDEN if hidden else _rename(flow, topic),
        "partitions": cost.partitions,
        "partition_bytes_per_day": cost.partition_bytes_per_day,
        "sized_bytes_per_day": cost.sized_bytes_per_day,
        "bytes_per_day": cost.bytes_per_day,
        "bytes_per_day_if_created": cost.created_bytes_per_day,
    }


def _pick_topic(flow: FlowConfig) -> str:
    """Return the name of a topic that the flow may carry."""
    if flow.topics.is_hidden("include"):
        return "topic"
    for topic in LIKELY_TOPICS:
        if flow.selection.matches(topic):
            return topic
    try:
        return find_common_topic((flow.selection,)) or "topic"
    except UndecidedError:
        return "topic"


def _rename(flow: FlowConfig, topic: str) -> str:
    hidden = flow.mirror.is_hidden("source_alias") or any(
        flow.naming.is_hidden(name) for name in ("separator", "format")
    )
    return HIDDEN if hidden else flow.topic_naming.remote(topic)
