"""Samples as the text that Prometheus reads.

The library's own writer looks at every letter of every name, of ten thousand
series, each time: at 1,172 topics that was a quarter of the agent's processor
time. Ours are known to be plain letters, series of one topic share their
labels, and nearly all have the labels of the report before. It writes the same
bytes, which a test holds it to.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.utils import floatToGoString

from ..domain.metrics import Histogram, Metric, MetricType, Sample

__all__ = ["Exposition"]

Labels = tuple[str, ...]

Blocks = dict[Labels, dict[Labels, str]]
"""Labels as text, by their names and their values."""

MOST_PLAIN = 10**6
"""Whole numbers below it are written as Python writes them: Go takes exponents
sooner."""


class Exposition:
    """Writes the samples of one report after the other.

    Notes
    -----
    It keeps the labels of the last report, as text.
    """

    def __init__(self) -> None:
        self._blocks: Blocks = {}

    def __call__(self, found: Iterable[Sample], *, open_metrics: bool) -> str:
        """Return samples as text, without what ends it in OpenMetrics.

        Parameters
        ----------
        found
            The samples; families come in the order of their first one.
        open_metrics
            Format is OpenMetrics, and not the older one.
        """
        families: dict[str, _Family] = {}
        before, self._blocks = self._blocks, {}
        for metric, labels, value in found:
            family = families.get(metric.name)
            if family is None:
                head = _head(metric, open_metrics=open_metrics)
                family = families[metric.name] = _Family(
                    metric,
                    head,
                    self._blocks.setdefault(metric.labels, {}),
                    before.get(metric.labels, {}),
                )
            if isinstance(value, Histogram):
                if family.is_histogram:
                    family.add(_buckets(family.metric, labels, value))
            elif not family.is_histogram:
                block = family.blocks.get(labels)
                if block is None:
                    block = family.remember(labels)
                text = (
                    f"{value}.0"
                    if type(value) is int and 0 <= value < MOST_PLAIN
                    else floatToGoString(value)
                )
                family.append(f"{family.name}{block} {text}\n")
        return "".join(
            line for family in families.values() for line in family.lines
        )


class _Family:
    """The lines of one metric."""

    __slots__ = (
        "_before",
        "add",
        "append",
        "blocks",
        "is_histogram",
        "lines",
        "metric",
        "name",
    )

    def __init__(
        self,
        metric: Metric,
        head: str,
        blocks: dict[Labels, str],
        before: dict[Labels, str],
    ) -> None:
        self.metric = metric
        self.name = metric.name
        self.is_histogram = metric.type is MetricType.HISTOGRAM
        self.lines = [head]
        self.append: Callable[[str], None] = self.lines.append
        self.add: Callable[[Iterable[str]], None] = self.lines.extend
        self.blocks = blocks
        self._before = before

    def remember(self, labels: Labels) -> str:
        """Return labels as text, and keep it for the other metrics."""
        block = self._before.get(labels)
        if block is None:
            block = _block(zip(self.metric.labels, labels, strict=False))
        self.blocks[labels] = block
        return block


def _head(metric: Metric, *, open_metrics: bool) -> str:
    name, text = metric.name, metric.help
    if open_metrics:
        if metric.type is MetricType.COUNTER:
            name = name.removesuffix("_total")
        text = _escaped(text)
    else:
        text = text.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {metric.type}\n"


def _buckets(
    metric: Metric, labels: Labels, value: Histogram
) -> Iterator[str]:
    name, pairs = metric.name, list(zip(metric.labels, labels, strict=False))
    counts = value.cumulative()
    for bound, count in counts:
        block = _block([*pairs, ("le", bound)])
        yield f"{name}_bucket{block} {floatToGoString(count)}\n"
    block = _block(pairs)
    total = value.total.total_seconds()
    yield f"{name}_count{block} {floatToGoString(counts[-1][1])}\n"
    yield f"{name}_sum{block} {floatToGoString(total)}\n"


def _block(pairs: Iterable[tuple[str, str]]) -> str:
    """Return labels in the order of their names; empty where none are."""
    text = ",".join(f'{k}="{_escaped(v)}"' for k, v in sorted(pairs))
    return f"{{{text}}}" if text else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
