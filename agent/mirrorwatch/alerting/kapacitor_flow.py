"""The alerts on all checks of a flow, as one TICKscript. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from string import Template

from ..domain.checks import CHECKS
from ..domain.figures.health import CHECK_HEALTH, MAINTENANCE
from ..domain.verdicts import Health
from . import tick
from .alert import Alert, Judged, Severity
from .words import SERVICE, runbook_of

__all__ = ["flow_script"]

_SCRIPT = Template("""\
// What is told of a flow: every alert that is raised, in one message.
var said = '''{{ $$of := .Fields }}{{ index .Tags "flow" }}:
$said
{{- if eq .Level "OK" }} all is well again{{ end }} - ''' + page + '/'

$source\
    // The point of the flow itself, which tells of maintenance, is of no
    // check. It goes along as one that is well.
    |default()
        .tag('check', 'flow')
        .field('$health', 0.0)
        .field('$maintenance', 0.0)
    |groupBy('flow', 'check')
$barrier    // Seconds for which it has been so.
    |stateDuration(lambda: "$health" == $critical)
        .unit(1s)
        .as('critical')
    |stateDuration(lambda: "$health" < $warning)
        .unit(1s)
        .as('mild')
    // What cannot be told for a while between is no break.
    |stateDuration(lambda: "$health" >= $unknown AND "mild" < $recent)
        .unit(1s)
        .as('warning')
    |stateDuration(lambda: "$health" == $unknown)
        .unit(1s)
        .as('unknown')
    |stateDuration(lambda: "$health" >= $unknown)
        .unit(1s)
        .as('amiss')
    |stateDuration(lambda: "$maintenance" == 0.0)
        .unit(1s)
        .as('clear')
    // Whether it is raised, and if not, whether it is well.
    |eval(
        lambda: if("critical" >= $critical_hold, $critical,
            if("warning" >= $warning_hold, $warning,
            if("unknown" >= $unknown_hold, $unknown, 0.0))),
        // Not well, and not told yet. What cannot be told for longer than most
        // checks wait to say so is waited for no more, but if it was bad.
        lambda: if("$health" >= $unknown AND "raised" == 0.0
            AND ("unknown" < $doubt OR "mild" < "amiss"), 1, 0)
    )
        .as('raised', 'doubt')
        .keep('raised', 'doubt', 'clear')
    // All checks of a tick as one point.
    |groupBy('flow')
    |flatten()
        .on('check')
    |default()
        .field('flow.clear', -1.0)
$defaults
    |eval(
        // Which alerts are raised, each a bit.
        lambda: $pages,
        lambda: $tickets,
        lambda: $doubts
    )
        .as('pages', 'tickets', 'doubts')
        .keep()
    // In maintenance and until it has been over for a while, nothing is told
    // but that all is well.
    |where(lambda: "flow.clear" >= $settle OR "pages" + "tickets" == 0)
    // What is bad for a moment is not told, nor is it called well: after a
    // restart of Kapacitor, or when the agent cannot tell. Nor is what is well
    // for a moment.
    |stateDuration(lambda: "pages" + "tickets" + "doubts" == 0)
        .unit(1s)
        .as('well')
    |where(lambda: "pages" > 0
        OR "doubts" == 0 AND ("tickets" > 0 OR "well" >= $recovery))
    |eval(lambda: if("pages" > 0, 'page ' + string("pages"),
        if("tickets" > 0, 'ticket ' + string("tickets"), 'well')))
        .as('state')
        .keep()
    // Again when another check joins; but one message, and one state, a flow.
    |changeDetect('state')
    |alert()
        .id('$service/{{ index .Tags "flow" }}')
        .message(said)
        .details('')
        .crit(lambda: "pages" > 0)
        .warn(lambda: "tickets" > 0)
        .topic(topic)
""")


def flow_script(alerts: Sequence[Alert], *, page: str, database: str) -> str:
    """Return the script that tells of flows.

    Parameters
    ----------
    alerts
        Those on checks.
    page
        Address of the agent's page, without a slash at its end.
    database
        Database that the agent writes to.
    """
    judged = [(alert, _when(alert)) for alert in alerts]
    about = "A flow is not well: one alert for each flow, of all its checks."
    return tick.head(about, page=page, database=database) + _SCRIPT.substitute(
        said="\n".join(_said(a, w) for a, w in _by_weight(judged)),
        source=tick.source(CHECK_HEALTH),
        health=CHECK_HEALTH.field,
        maintenance=MAINTENANCE.field,
        critical=_value(Health.CRITICAL),
        warning=_value(Health.WARNING),
        unknown=_value(Health.UNKNOWN),
        critical_hold=_hold(judged, Health.CRITICAL),
        warning_hold=_hold(judged, Health.WARNING),
        unknown_hold=_hold(judged, Health.UNKNOWN),
        doubt=tick.seconds(_usual(judged, Health.UNKNOWN)),
        defaults="\n".join(
            f"        .field('{check}.raised', 0.0)\n"
            # A point that lacks one is half a tick, and does not say "well".
            f"        .field('{check}.doubt', 1)"
            for check in CHECKS
        ),
        pages=_bits(judged, Severity.PAGE),
        tickets=_bits(judged, Severity.TICKET),
        doubts=" + ".join(f'"{check}.doubt"' for check in CHECKS),
        settle=tick.seconds(min(alert.hold for alert in alerts)),
        recovery=tick.seconds(min(alert.recovery for alert in alerts)),
        recent=tick.seconds(
            max(a.recent for a, w in judged if w.health is Health.WARNING)
        ),
        barrier=tick.BARRIER,
        service=SERVICE,
    )


_Judged = Sequence[tuple[Alert, Judged]]


def _when(alert: Alert) -> Judged:
    if not isinstance(alert.when, Judged):
        raise TypeError(alert.when)
    return alert.when


def _by_weight(judged: _Judged) -> _Judged:
    """Return pages first, and each in the order of the checks."""
    return sorted(judged, key=lambda each: each[0].severity != Severity.PAGE)


def _said(alert: Alert, when: Judged) -> str:
    raised = f'index $of "{when.check}.raised"'
    link = f"''' + page + '''{runbook_of(alert, page='')}"
    return (
        f"{{{{- if eq ({raised}) {_value(when.health)} }}}} "
        f"{alert.summary} ({link}){{{{ end }}}}"
    )


def _usual(judged: _Judged, health: Health) -> timedelta:
    """Return how long a health has to last for most checks."""
    holds = Counter(a.hold for a, w in judged if w.health is health)
    ((usual, _),) = holds.most_common(1)
    return usual


def _hold(judged: _Judged, health: Health) -> str:
    """Return how long a health has to last, by check where that differs."""
    usual = _usual(judged, health)
    text = tick.seconds(usual)
    for alert, when in judged:
        if when.health is health and alert.hold != usual:
            own = tick.seconds(alert.hold)
            text = f"if(\"check\" == '{when.check}', {own}, {text})"
    return text


def _bits(judged: _Judged, severity: Severity) -> str:
    """Return a number with a bit for each alert that is raised."""
    raised = [
        f'if("{when.check}.raised" == {_value(when.health)}, {1 << bit}, 0)'
        for bit, (alert, when) in enumerate(judged)
        if alert.severity is severity
    ]
    return "\n            + ".join(raised)


def _value(health: Health) -> str:
    # Every field in InfluxDB is a float.
    return f"{health.value:.1f}"
