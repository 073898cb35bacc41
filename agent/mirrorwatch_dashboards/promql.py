"""Queries in PromQL, with the variables of Grafana."""

from collections.abc import Iterable
from dataclasses import replace

from mirrorwatch.domain.metrics import Metric

from .panels import (
    MONTH,
    Age,
    Board,
    Function,
    Gauge,
    Increase,
    Quantile,
    Reading,
    Share,
)

__all__ = ["choices", "now", "over_time"]


STEP = "$__rate_interval"
"""At least four scrapes: a late one leaves no hole, and none is passed over
between two points of the picture."""

QUANTILE_WINDOW = "5m"


def over_time(reading: Reading, board: Board) -> str:
    """Return the query for how it went."""
    name = _selector(reading, board)
    match reading:
        case Gauge():
            worst = f"{_word(reading.over)}_over_time({name}[{STEP}])"
            return _across(reading.across, reading.by, worst)
        case Increase():
            # `increase` over the same would count what windows share twice.
            grown = _across(Function.SUM, reading.by, f"rate({name}[{STEP}])")
            return f"{grown} * $__interval_ms / 1000"
        case Quantile():
            return _quantile(reading, name, STEP)
        case Age() | Share():
            msg = f"{reading.metric.name} is read for now only"
            raise ValueError(msg)


def now(reading: Reading, board: Board) -> str:
    """Return the query for what is true now, or of the whole time shown."""
    name = _selector(reading, board)
    match reading:
        case Gauge():
            return _across(reading.across, reading.by, name)
        case Increase():
            # Events are whole; `increase` guesses what the edges hide.
            grown = f"increase({name}[$__range])"
            return f"round({_across(Function.SUM, reading.by, grown)})"
        case Share():
            part, rest = (
                _across(Function.SUM, reading.by, f"rate({each}[{MONTH}])")
                for each in (
                    name,
                    _selector(replace(reading, metric=reading.rest), board),
                )
            )
            return f"{part} / ({part} + {rest})"
        case Quantile():
            return _quantile(reading, name, QUANTILE_WINDOW)
        case Age():
            # Grafana reckons moments in milliseconds.
            return f"{_across(Function.MAX, reading.by, name)} * 1000"


def choices(label: str, source: Metric, before: Iterable[str]) -> str:
    """Return the query for the values that a variable can have.

    Parameters
    ----------
    label
        Label that is chosen.
    source
        Metric that has it.
    before
        Labels that were chosen before it.
    """
    chosen = ",".join(_held(other) for other in ("job", *before))
    series = f"{source.name}{{{chosen}}}"
    return f"label_values({series}, {label})"


def _selector(reading: Reading, board: Board) -> str:
    metric = reading.metric
    held = [_held("job")]
    held += [_held(variable.label) for variable in board.chosen(metric)]
    held += [f'{label}="{value}"' for label, value in reading.where.items()]
    bucket = "_bucket" if isinstance(reading, Quantile) else ""
    return f"{metric.name}{bucket}{{{','.join(held)}}}"


def _held(label: str) -> str:
    return f'{label}=~"${label}"'


def _quantile(reading: Quantile, name: str, window: str) -> str:
    rates = _across(
        Function.SUM, (*reading.by, "le"), f"rate({name}[{window}])"
    )
    return f"histogram_quantile({reading.q:g}, {rates})"


def _across(function: Function, by: tuple[str, ...], inner: str) -> str:
    return f"{_word(function)} by ({', '.join(by)}) ({inner})"


def _word(function: Function) -> str:
    return "avg" if function is Function.MEAN else function.value
