"""What readers choose at the top of dashboards."""

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import ClassMetrics
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.samples import HEALTH

from ..panels import Variable

__all__ = ["CLASS", "FLOW", "TOPIC"]


FLOW = Variable(label="flow", source=HEALTH)

TOPIC = Variable(label="topic", source=lag.LAG_RECORDS, all=False)
"""A thousand lines are no picture, so not all of them."""

CLASS = Variable(
    label="class",
    source=mirror.GAUGES[ClassMetrics]["records_per_second"],
)
