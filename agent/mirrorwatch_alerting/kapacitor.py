"""Alerts as TICKscripts of Kapacitor. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from string import Template
from typing import NamedTuple

from mirrorwatch.domain.metrics import Metric
from mirrorwatch.domain.notices.model import GAP, RECOVERY, Severity
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import CHECK_HEALTH, MAINTENANCE

from .alerts import (
    PAGE,
    SERVICE,
    Above,
    Alert,
    AtFault,
    Grows,
    Old,
    Silent,
    Vanished,
    WhenHealth,
    runbook_of,
    subject_of,
)

__all__ = ["FRESH", "scripts"]


FRESH = timedelta(minutes=1)
"""By how much the time of a point that is judged may be off. Points that
waited in the agent's spool are of the past, and come mixed with fresh ones;
those of a clock that was wrong for a while spoil every duration. Shorter than
any alert has to hold, and no longer than a flow has to be well, so that old
points alone never make or end one."""

_HEAD = Template("""\
// Made by `make alerts` from agent/mirrorwatch_alerting: change it there.
// $about
dbrp "$database"."$policy"

// Where the agent writes to (sinks.influxdb), and the address of its page.
var database = '$database'
var retention_policy = '$policy'
var page = '$page'

// Handlers of this topic decide who is notified, and how.
var topic = '$topic'

// Points from the agent's queue are about the past. Points with a wrong
// timestamp are ignored.
var fresh = lambda: unixNano(now()) - unixNano("time") < $age
    AND unixNano("time") - unixNano(now()) < $age

""")

_SOURCE = Template("""\
stream
    |from()
        .database(database)
        .retentionPolicy(retention_policy)
        .measurement('$measurement')
        .where(fresh)
""")


BARRIER = f"""\
    // Before a long silence and after it is not without a break.
    |barrier()
        .idle({int(GAP.total_seconds())}s)
        .delete(TRUE)
"""
"""Goes behind what groups points, so that a group forgets what it saw."""


def _head(about: str, *, page: str = PAGE, database: str = SERVICE) -> str:
    return _HEAD.substitute(
        about=about,
        database=database,
        policy="autogen",
        page=page,
        topic=SERVICE,
        age=FRESH // timedelta(microseconds=1) * 1000,
    )


def _source(metric: Metric) -> str:
    """Return where the points of a metric's measurement come from."""
    return _SOURCE.substitute(measurement=metric.measurement)


def _seconds(time: timedelta) -> str:
    """Write a time as the number of seconds that lambdas compare with."""
    return f"{time.total_seconds():.1f}"


def _duration(time: timedelta) -> str:
    return f"{int(time.total_seconds())}s"


def _escaped(text: str) -> str:
    return text.replace("'", "\\'")


_SCRIPT = Template("""\
// The message of a flow: every alert that fires.
var said = '''{{ $$of := .Fields }}{{ index .Tags "flow" }}:
$said
{{- if eq .Level "OK" }} all checks are ok again{{ end }} - ''' + page + '/'

$source\
    // The point of the flow itself, with its maintenance, has no check. It
    // counts as a check that is ok.
    |default()
        .tag('check', 'flow')
        .field('$health', 0.0)
        .field('$maintenance', 0.0)
    |groupBy('flow', 'check')
$barrier    // Seconds in each state.
    |stateDuration(lambda: "$health" == $critical)
        .unit(1s)
        .as('critical')
    |stateDuration(lambda: "$health" < $warning)
        .unit(1s)
        .as('mild')
    // A short unknown in between does not interrupt it.
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
    // Whether the alert fires; if not, whether the check is ok.
    |eval(
        lambda: if("critical" >= $critical_hold, $critical,
            if("warning" >= $warning_hold, $warning,
            if("unknown" >= $unknown_hold, $unknown, 0.0))),
        // Not ok, and no alert yet. Wait no longer for a check that has been
        // unknown for longer than most holds, unless it was bad before.
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
    // During maintenance, and for a while after it, only the recovery is
    // notified.
    |where(lambda: "flow.clear" >= $settle OR "pages" + "tickets" == 0)
    // A short problem is neither an alert nor a recovery, for instance after a
    // restart of Kapacitor, or while a check is unknown. Nor is a short
    // recovery.
    |stateDuration(lambda: "pages" + "tickets" + "doubts" == 0)
        .unit(1s)
        .as('well')
    |where(lambda: "pages" > 0
        OR "doubts" == 0 AND ("tickets" > 0 OR "well" >= $recovery))
    |eval(lambda: if("pages" > 0, 'page ' + string("pages"),
        if("tickets" > 0, 'ticket ' + string("tickets"), 'well')))
        .as('state')
        .keep()
    // Notify again when another check fires. One message, one state per flow.
    |changeDetect('state')
    |alert()
        .id('$service/{{ index .Tags "flow" }}')
        .message(said)
        .details('')
        .crit(lambda: "pages" > 0)
        .warn(lambda: "tickets" > 0)
        .topic(topic)
""")


class _Judged(NamedTuple):
    """Alert of one check."""

    alert: Alert
    check: str
    health: Health


def _flow_script(
    judged: Sequence[_Judged], *, page: str, database: str
) -> str:
    checks = dict.fromkeys(each.check for each in judged)
    settle = _usual(judged, Health.CRITICAL)
    pages_first = sorted(
        judged, key=lambda each: each.alert.severity != Severity.PAGE
    )
    about = "A flow is not healthy: one alert per flow, for all its checks."
    return _head(about, page=page, database=database) + _SCRIPT.substitute(
        said="\n".join(map(_said, pages_first)),
        source=_source(CHECK_HEALTH),
        health=CHECK_HEALTH.field,
        maintenance=MAINTENANCE.field,
        critical=_value(Health.CRITICAL),
        warning=_value(Health.WARNING),
        unknown=_value(Health.UNKNOWN),
        critical_hold=_hold(judged, Health.CRITICAL),
        warning_hold=_hold(judged, Health.WARNING),
        unknown_hold=_hold(judged, Health.UNKNOWN),
        doubt=_seconds(_usual(judged, Health.UNKNOWN)),
        defaults="\n".join(
            f"        .field('{check}.raised', 0.0)\n"
            # A point that lacks one is half a tick, and does not say "well".
            f"        .field('{check}.doubt', 1)"
            for check in checks
        ),
        pages=_bits(judged, Severity.PAGE),
        tickets=_bits(judged, Severity.TICKET),
        doubts=" + ".join(f'"{check}.doubt"' for check in checks),
        settle=_seconds(settle),
        recovery=_seconds(min(settle / 2, RECOVERY)),
        recent=_seconds(
            max(a.recent for a, _, h in judged if h is Health.WARNING)
        ),
        barrier=BARRIER,
        service=SERVICE,
    )


def _said(judged: _Judged) -> str:
    alert, check, health = judged
    raised = f'index $of "{check}.raised"'
    text = f"{alert.summary} (''' + page + '''{runbook_of(alert, page='')})"
    return (
        f"{{{{- if eq ({raised}) {_value(health)} }}}} "
        f"{text.replace('{check}', check)}{{{{ end }}}}"
    )


def _usual(judged: Sequence[_Judged], health: Health) -> timedelta:
    """Return how long a health has to last for most checks."""
    holds = Counter(a.hold for a, _, h in judged if h is health)
    ((usual, _),) = holds.most_common(1)
    return usual


def _hold(judged: Sequence[_Judged], health: Health) -> str:
    """Return how long a health has to last, by check where that differs."""
    usual = _usual(judged, health)
    text = _seconds(usual)
    for alert, check, its_health in judged:
        if its_health is health and alert.hold != usual:
            own = _seconds(alert.hold)
            text = f"if(\"check\" == '{check}', {own}, {text})"
    return text


def _bits(judged: Sequence[_Judged], severity: Severity) -> str:
    raised = [
        f'if("{check}.raised" == {_value(health)}, {1 << bit}, 0)'
        for bit, (alert, check, health) in enumerate(judged)
        if alert.severity is severity
    ]
    return "\n            + ".join(raised)


def _value(health: Health) -> str:
    # Every field in InfluxDB is a float.
    return f"{health.value:.1f}"


REMINDER = timedelta(minutes=30)
"""After which it is reported again that nobody watches a flow."""

_DEADMAN = Template("""\
$source\
        .where(lambda: isPresent("$field"))
    |deadman(0.0, $hold)
        .id('$service/agent')
        .message('$summary - ' + page + '$runbook')
        .details('')
        .stateChangesOnly()
        // No flow is monitored then. One alert is enough.
        .inhibit('$service-unwatched')
        .topic(topic)
""")

_UNWATCHED = Template("""\
$source\
        .where(lambda: isPresent("$field"))
        .groupBy('flow')
    // Without any point there is no flow to alert on.
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
$grouped$barrier    |stateDuration(lambda: "$field" $is_so)
        .unit(1s)
        .as('seconds')
    |alert()
        .id('$service/$name$of')
        .message('$who$summary - ' + page + '$runbook')
        .details('')
        .$level(lambda: "seconds" >= $hold)
        .stateChangesOnly()
        .topic(topic)
""")

_GROWN = Template("""\
// No hold: losses are counted, not measured.
$source\
        .where(lambda: isPresent("$field"))
$grouped    |derivative('$field')
        .unit(1s)
        // An agent that is started again counts from 0.
        .nonNegative()
        .as('growth')
    |stateDuration(lambda: "growth" == 0.0)
        .unit(1s)
        .as('quiet_seconds')
    |alert()
        .id('$service/$name$of')
        .message('$who$summary - ' + page + '$runbook')
        .details('')
        .$level(lambda: "growth" > 0.0)
        .${level}Reset(lambda: "quiet_seconds" >= $window)
        .stateChangesOnly()
        .topic(topic)
""")

ABOUT = {
    "agent": "No agent reports, or one does not keep its state.",
    "cause": "Which part of a flow is at fault: beside the alert of the flow.",
    "unwatched": "A flow is no longer monitored.",
    "sinks": "Metrics or notifications of the agent do not reach a sink.",
}
"""Subject of each script for the agent's own alerts."""

LEVELS = {Severity.PAGE: "crit", Severity.TICKET: "warn"}


def scripts(
    alerts: Iterable[Alert], *, page: str = PAGE, database: str = SERVICE
) -> Mapping[str, str]:
    """Return the text of each script by its name.

    Parameters
    ----------
    alerts
        Alerts to raise.
    page
        Address of the agent's page, without a slash at its end.
    database
        Database that the agent writes to.
    """
    judged = list[_Judged]()
    own = {name: list[str]() for name in ABOUT}
    for alert in alerts:
        match alert.when:
            case WhenHealth(checks=checks, health=health):
                judged += [_Judged(alert, check, health) for check in checks]
            case Silent():
                own["agent"].append(_script(_DEADMAN, alert, alert.when))
            case Vanished():
                own["unwatched"].append(_script(_UNWATCHED, alert, alert.when))
            case AtFault():
                own["cause"].append(_script(_HELD, alert, alert.when))
            case Above() | Grows():
                template = _HELD if isinstance(alert.when, Above) else _GROWN
                name = "sinks" if subject_of(alert) else "agent"
                own[name].append(_script(template, alert, alert.when))
            case Old():
                # An agent that makes no ticks writes no points: it is silent.
                pass
    texts = {
        name: _head(ABOUT[name], page=page, database=database)
        + "\n".join(bodies)
        for name, bodies in own.items()
        # One of nothing is no task.
        if bodies
    }
    texts["flow"] = _flow_script(judged, page=page, database=database)
    return {f"{SERVICE}-{name}": text for name, text in texts.items()}


def _script(
    template: Template,
    alert: Alert,
    when: AtFault | Silent | Vanished | Above | Grows,
) -> str:
    label = subject_of(alert)
    tag = f'{{{{ index .Tags "{label}" }}}}'
    values = {
        "source": _source(when.metric),
        "grouped": f"        .groupBy('{label}')\n" if label else "",
        "of": f"/{tag}" if label else "",
        "who": f"{tag}: " if label else "",
        "field": when.metric.field,
        "hold": _duration(alert.hold),
        "service": SERVICE,
        "barrier": BARRIER,
        "name": alert.name.removeprefix("Mirrorwatch"),
        "level": LEVELS[alert.severity],
        "summary": _escaped(alert.summary),
        "runbook": runbook_of(alert, page=""),
    }
    match when:
        case Silent():
            pass
        case Vanished():
            # Later than that of all agents, which is reported alone then: this
            # one is reported at the next reminder, if agents are back by then.
            values["hold"] = _duration(2 * alert.hold)
            values["reminder"] = _duration(REMINDER)
        case AtFault(metric=metric, health=health):
            tags = [f'{{{{ index .Tags "{x}" }}}}' for x in metric.labels]
            labels = ", ".join(f"'{label}'" for label in metric.labels)
            values["grouped"] = f"        .groupBy({labels})\n"
            values["of"] = "".join(f"/{tag}" for tag in tags)
            values["who"] = f"{': '.join(tags)} at fault: "
            values["is_so"] = f">= {_value(health)}"
            values["hold"] = _seconds(alert.hold)
            # Who is woken by it is woken by the alert of the flow, which is
            # held back in maintenance.
            values["level"] = "info"
        case Above(bound=bound, below=below):
            values["is_so"] = f"{'<' if below else '>'} {bound:.1f}"
            values["hold"] = _seconds(alert.hold)
        case Grows(within=within):
            values["window"] = _seconds(within)
    return template.substitute(values)
