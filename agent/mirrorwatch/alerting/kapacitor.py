"""Alerts as TICKscripts of Kapacitor. Pure."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from string import Template

from . import tick
from .alert import (
    Above,
    Alert,
    Grows,
    Judged,
    Old,
    Severity,
    Silent,
    Vanished,
)
from .kapacitor_flow import flow_script
from .words import PAGE, SERVICE, runbook_of

__all__ = ["scripts"]

REMINDER = timedelta(minutes=30)
"""After which it is told again that nobody watches a flow."""

_DEADMAN = Template("""\
$source\
        .where(lambda: isPresent("$field"))
    |deadman(0.0, $hold)
        .id('$service/agent')
        .message('$summary - ' + page + '$runbook')
        .details('')
        .stateChangesOnly()
        // Then nobody watches any flow, which need not be told of each.
        .inhibit('$service-unwatched')
        .topic(topic)
""")

_UNWATCHED = Template("""\
$source\
        .where(lambda: isPresent("$field"))
        .groupBy('flow')
    // Without any point there is no flow to tell of.
    |deadman(0.0, $hold, lambda: isPresent("flow"))
        .id('$service/unwatched/{{ index .Tags "flow" }}')
        .message('{{ index .Tags "flow" }}: $summary - ' + page + '$runbook')
        .details('')
        .stateChangesOnly($reminder)
        .category('$service-unwatched')
        .topic(topic)
""")

_HELD = Template("""\
$source\
        .where(lambda: isPresent("$field"))
        .groupBy('sink')
$barrier    |stateDuration(lambda: "$field" $is_so)
        .unit(1s)
        .as('seconds')
    |alert()
        .id('$service/$name/{{ index .Tags "sink" }}')
        .message('{{ index .Tags "sink" }}: $summary - ' + page + '$runbook')
        .details('')
        .$level(lambda: "seconds" >= $hold)
        .stateChangesOnly()
        .topic(topic)
""")

_GROWN = Template("""\
// Told at once: a loss was counted, and is no measurement that may err.
$source\
        .where(lambda: isPresent("$field"))
        .groupBy('sink')
    |derivative('$field')
        .unit(1s)
        // An agent that is started again counts from 0.
        .nonNegative()
        .as('growth')
    |stateDuration(lambda: "growth" == 0.0)
        .unit(1s)
        .as('quiet_seconds')
    |alert()
        .id('$service/$name/{{ index .Tags "sink" }}')
        .message('{{ index .Tags "sink" }}: $summary - ' + page + '$runbook')
        .details('')
        .$level(lambda: "growth" > 0.0)
        .${level}Reset(lambda: "quiet_seconds" >= $window)
        .stateChangesOnly()
        .topic(topic)
""")

ABOUT = {
    "agent": "Nothing was heard of any agent.",
    "unwatched": "A flow that was watched is watched no more.",
    "sinks": "Figures of the agent do not arrive where they should.",
}
"""What each script of the agent's own alerts is about."""

LEVELS = {Severity.PAGE: "crit", Severity.TICKET: "warn"}
"""Property of an alert node, by severity."""


def scripts(
    alerts: Iterable[Alert], *, page: str = PAGE, database: str = SERVICE
) -> Mapping[str, str]:
    """Return the text of each script by its name.

    Parameters
    ----------
    alerts
        What to raise.
    page
        Address of the agent's page, without a slash at its end.
    database
        Database that the agent writes to.
    """
    judged = list[Alert]()
    own = {name: list[str]() for name in ABOUT}
    for alert in alerts:
        match alert.when:
            case Judged():
                judged.append(alert)
            case Silent():
                own["agent"].append(_script(_DEADMAN, alert, alert.when))
            case Vanished():
                own["unwatched"].append(_script(_UNWATCHED, alert, alert.when))
            case Above() | Grows():
                template = _HELD if isinstance(alert.when, Above) else _GROWN
                own["sinks"].append(_script(template, alert, alert.when))
            case Old():
                # An agent that makes no ticks writes no points: it is silent.
                pass
    texts = {
        name: tick.head(ABOUT[name], page=page, database=database)
        + "\n".join(bodies)
        for name, bodies in own.items()
    }
    texts["flow"] = flow_script(judged, page=page, database=database)
    return {f"{SERVICE}-{name}": text for name, text in texts.items()}


def _script(
    template: Template, alert: Alert, when: Silent | Vanished | Above | Grows
) -> str:
    values = {
        "source": tick.source(when.metric),
        "field": when.metric.field,
        "hold": tick.duration(alert.hold),
        "service": SERVICE,
        "barrier": tick.BARRIER,
        "name": alert.name.removeprefix("Mirrorwatch"),
        "level": LEVELS[alert.severity],
        "summary": tick.escaped(alert.summary),
        "runbook": runbook_of(alert, page=""),
    }
    match when:
        case Silent():
            pass
        case Vanished():
            # Later than that of all agents, which is told alone then: this
            # one is told at the next reminder, if agents are back by then.
            values["hold"] = tick.duration(2 * alert.hold)
            values["reminder"] = tick.duration(REMINDER)
        case Above(bound=bound, below=below):
            values["is_so"] = f"{'<' if below else '>'} {bound:.1f}"
            values["hold"] = tick.seconds(alert.hold)
        case Grows(within=within):
            values["window"] = tick.seconds(within)
    return template.substitute(values)
