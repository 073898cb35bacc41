"""What readers choose at the top of dashboards."""

from ...domain.figures import health, lag, mirror
from ...domain.mirror_metrics import ClassMetrics
from ..panels import Variable

__all__ = ["CLASS", "FLOW", "TOPIC"]

FLOW = Variable(label="flow", source=health.HEALTH)

TOPIC = Variable(label="topic", source=lag.LAG_RECORDS, all=False)
"""A thousand lines are no picture, so not all of them."""

CLASS = Variable(
    label="class",
    source=mirror.GAUGES[ClassMetrics]["records_per_second"],
)
