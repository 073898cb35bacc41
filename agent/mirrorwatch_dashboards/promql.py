"""PromQL queries with the variables of Grafana."""

from collections.abc import Iterable

from mirrorwatch.domain.losses.metrics import LOST
from mirrorwatch.domain.metrics import Metric
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import EVENTS, MAINTENANCE

from .panels import (
    MONTH,
    QUANTILE_WINDOW,
    Board,
    Function,
    Query,
    Reading,
    Variable,
)

__all__ = ["ANNOTATIONS", "choices", "now", "over_time"]


STEP = "$__rate_interval"
"""At least four scrapes: a late one leaves no hole, and none is passed over
between two points of the picture."""


_CHOSEN = 'job=~"$job", flow=~"$flow"'


def _growth(counter: Metric, by: str) -> str:
    grown = f"increase({counter.name}{{{_CHOSEN}}}[2m])"
    return f"sum by ({by}) ({grown}) > 0"


ANNOTATIONS = {
    "Alerts": (
        Health.CRITICAL,
        {
            # Also those of no job and no flow: that no agent reports is one.
            "expr": 'ALERTS{alertstate="firing", service="mirrorwatch",'
            ' job=~"$job|", flow=~"$flow|"}',
            "titleFormat": "{{alertname}}",
            "textFormat": "{{flow}} {{check}} {{cause}}",
            "tagKeys": "severity",
        },
    ),
    "Lost records": (
        Health.CRITICAL,
        {
            "expr": _growth(LOST, "flow, topic, kind"),
            "titleFormat": "Lost records",
            "textFormat": "{{flow}} {{topic}} {{kind}}",
        },
    ),
    "Events": (
        Health.WARNING,
        {
            "expr": _growth(EVENTS, "flow, code"),
            "titleFormat": "{{code}}",
            "textFormat": "{{flow}}",
        },
    ),
    "Maintenance": (
        Health.OFF,
        {
            "expr": f"{MAINTENANCE.name}{{{_CHOSEN}}} == 1",
            "titleFormat": "Maintenance",
            "textFormat": "{{flow}}",
        },
    ),
}
"""Annotations by name: colour, and fields of the data source."""


def over_time(query: Query, board: Board) -> str:
    """Return the query for a picture over time.

    Raises
    ------
    ValueError
        Raised if the reading has a current value only.
    """
    name = _selector(query, board, query.metric)
    match query.reading:
        case Reading.GAUGE:
            worst = f"{_name(query.over_ticks)}_over_time({name}[{STEP}])"
            return _at_least(query, _aggregate(query.across, query.by, worst))
        case Reading.INCREASE:
            # `increase` over the same would count what windows share twice.
            grown = _aggregate(Function.SUM, query.by, f"rate({name}[{STEP}])")
            return f"{grown} * $__interval_ms / 1000"
        case Reading.QUANTILE:
            return _quantile(query, name, STEP)
        case Reading.AGE | Reading.EVENTS | Reading.SHARE:
            msg = f"{query.metric.name} is read for now only"
            raise ValueError(msg)


def now(query: Query, board: Board) -> str:
    """Return the query for the current value, or of the whole time shown."""
    name = _selector(query, board, query.metric)
    match query.reading:
        case Reading.GAUGE:
            return _at_least(query, _aggregate(query.across, query.by, name))
        case Reading.INCREASE | Reading.EVENTS:
            # Events are whole; `increase` guesses what the edges hide.
            grown = f"increase({name}[$__range])"
            total = f"round({_aggregate(Function.SUM, query.by, grown)})"
            is_list = query.reading is Reading.EVENTS
            return f"{total} > 0" if is_list else total
        case Reading.QUANTILE:
            return _quantile(query, name, QUANTILE_WINDOW)
        case Reading.AGE:
            # Grafana reckons moments in milliseconds.
            return f"{_aggregate(Function.MAX, query.by, name)} * 1000"
        case Reading.SHARE:
            rest = _selector(query, board, query.rest or query.metric)
            part, others = (
                _aggregate(Function.SUM, query.by, f"rate({each}[{MONTH}])")
                for each in (name, rest)
            )
            return f"{part} / ({part} + {others})"


def choices(variable: Variable, before: Iterable[Variable]) -> str:
    """Return the query for the values that a variable can have, after others
    were chosen.
    """
    chosen = ",".join(map(_matcher, ["job", *(v.label for v in before)]))
    return (
        f"label_values({variable.source.name}{{{chosen}}}, {variable.label})"
    )


def _selector(query: Query, board: Board, metric: Metric) -> str:
    matchers = [_matcher("job")]
    matchers += [_matcher(variable.label) for variable in board.chosen(metric)]
    matchers += [f'{label}="{value}"' for label, value in query.where.items()]
    bucket = "_bucket" if query.reading is Reading.QUANTILE else ""
    return f"{metric.name}{bucket}{{{','.join(matchers)}}}"


def _matcher(label: str) -> str:
    return f'{label}=~"${label}"'


def _at_least(query: Query, text: str) -> str:
    return text if query.minimum is None else f"{text} >= {query.minimum:g}"


def _quantile(query: Query, name: str, window: str) -> str:
    rates = _aggregate(
        Function.SUM, (*query.by, "le"), f"rate({name}[{window}])"
    )
    return f"histogram_quantile({query.quantile:g}, {rates})"


def _aggregate(function: Function, by: tuple[str, ...], inner: str) -> str:
    return f"{_name(function)} by ({', '.join(by)}) ({inner})"


def _name(function: Function) -> str:
    return "avg" if function is Function.MEAN else function.value
