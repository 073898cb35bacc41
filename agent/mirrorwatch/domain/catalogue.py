"""Every metric that leaves the process, once.

The sinks, the table in docs/metrics.md and the tests of dashboards and alert
rules are all made from this catalogue. A metric is listed when something
produces it, not before.
"""

from .figures import (
    agent,
    audit,
    canary,
    health,
    lag,
    mirror,
    parity,
    position,
    skips,
    tasks,
)
from .figures.metric import Metric, MetricType

__all__ = ["CATALOGUE", "LABELS", "Metric", "MetricType"]

LABELS = {
    "flow": "name of the flow, by default `source->target`",
    "check": "stable name of the check that was made",
    "partition": "partition number, the same on both clusters",
    "topic": "source topic",
    "class": "class of topics as configured, or `other`",
    "client": "the mirror's `consumer` or `producer`",
    "connector": "name of a connector of the mirror",
    "state": "state of tasks in Kafka Connect's word, in small letters",
    "kind": "what an audit found: a kind of finding, or `unverifiable`",
    "source": "name of a source of facts inside the agent",
    "sink": "name of a sink of the agent",
}
"""What each label says. All of them stay bounded: no run, offset or key."""

CATALOGUE = (
    *health.METRICS,
    *canary.METRICS,
    *lag.METRICS,
    *position.METRICS,
    *skips.METRICS,
    *parity.METRICS,
    *tasks.METRICS,
    *mirror.METRICS,
    *audit.METRICS,
    *agent.METRICS,
)
"""All of them, in the order of the exposition."""
