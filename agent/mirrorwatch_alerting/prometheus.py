"""Alerts as rules of Prometheus. Pure."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import yaml

from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.lag.metrics import TIME_TO_LOSS
from mirrorwatch.domain.notices.model import GAP, Severity
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import (
    CHECK_HEALTH,
    FLOW_CAUSE,
    FLOW_INFO,
    LAST_TICK,
    MAINTENANCE,
)

from .alerts import (
    PAGE,
    SERVICE,
    SILENCE,
    STUCK,
    Above,
    Alert,
    AtFault,
    Condition,
    Grows,
    Old,
    Silent,
    Vanished,
    WhenHealth,
    page_of,
    runbook_of,
    subject_of,
)

__all__ = ["FORGET", "RATIO", "rules"]


AGENT = ("job", "namespace", "cluster")
"""Labels by which a central Prometheus keeps agents apart. Not `instance` or
`pod`: an agent that moves to another machine is no other agent, and alerts
must not end and begin with it."""

BY_AGENT = ", ".join(AGENT)
BY_FLOW = f"{BY_AGENT}, flow"

FORGET = timedelta(days=1)
"""For how long what a flow was last known to be is remembered: as long as
somebody who was notified of it takes at most to look."""

NOW = "mirrorwatch:check_health"
HELD = "mirrorwatch:maintenance"
LAST = "mirrorwatch:last_check_health"
CAUSE = "mirrorwatch:flow_cause"
LAST_CAUSE = "mirrorwatch:last_flow_cause"


def rules(alerts: Iterable[Alert], *, page: str | None = None) -> str:
    """Return a file of rules.

    Parameters
    ----------
    alerts
        Alerts to raise.
    page
        Address of the agent's page, without a slash at its end; `None` for
        the one that each agent says it has.

    Notes
    -----
    Alerts are in one group with what is recorded for them, because rules of
    one group are evaluated in their order: they look at what the recorded
    series say of the same moment. A share of 30 days costs more and changes
    slowly: it has a group of its own.
    """
    group = {
        "name": SERVICE,
        "rules": [
            *_recorded(),
            *(_rule(alert, page) for alert in alerts),
        ],
    }
    slow = {
        "name": f"{SERVICE}-levels",
        "interval": _duration(SLOW_INTERVAL),
        "rules": [_recorded_level()],
    }
    return yaml.dump(
        {"groups": [group, slow]},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1000,
    )


def _recorded() -> Iterable[dict[str, str]]:
    checks, forget = CHECK_HEALTH.name, _duration(FORGET)
    causes = FLOW_CAUSE.name
    check, cause = f"{BY_FLOW}, check", f"{BY_FLOW}, cause"
    yield {"record": NOW, "expr": f"max by ({check}) ({checks})"}
    yield {"record": CAUSE, "expr": f"max by ({cause}) ({causes})"}
    held = f"last_over_time({MAINTENANCE.name}[{_duration(GAP)}])"
    yield {"record": HELD, "expr": f"max by ({BY_FLOW}) ({held})"}
    yield {
        "record": LAST,
        "expr": f"{NOW}\n  or max by ({check}) "
        f"(last_over_time({checks}[{forget}]))",
    }
    yield {
        "record": LAST_CAUSE,
        "expr": f"{CAUSE}\n  or max by ({cause}) "
        f"(last_over_time({causes}[{forget}]))",
    }


SLOW_INTERVAL = timedelta(minutes=4)
"""Recording interval of the share: a series is stale after five minutes."""

RATIO = "mirrorwatch:level:ratio_rate30d"
"""Share of probes that arrived within the bound."""


def _recorded_level() -> dict[str, str]:
    good, bad = (
        f"sum by ({BY_FLOW}) (rate({metric.name}[30d]))"
        for metric in (canary.GOOD, canary.BAD)
    )
    return {"record": RATIO, "expr": f"{good}\n  / ({good} + {bad})"}


def _rule(alert: Alert, page: str | None) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": _expression(alert, alert.when),
        "for": _duration(alert.hold),
        "labels": {
            "severity": alert.severity.value,
            "service": SERVICE,
            **({"symptom": "true"} if alert.is_symptom else {}),
        },
        "annotations": _annotations(alert, page),
    }


def _annotations(alert: Alert, page: str | None) -> dict[str, str]:
    subject = subject_of(alert)
    told = f"{{{{ $labels.{subject} }}}}: " if subject else ""
    if isinstance(alert.when, AtFault):
        told += "{{ $labels.cause }} at fault: "
    if page is None:
        known = BY_FLOW if subject == "flow" else BY_AGENT
        info = f"last_over_time({FLOW_INFO.name}{{}}[{_duration(FORGET)}])"
        page = (
            _ask(info, known) + '{{ . | first | label "page" }}'
            f"{{{{ else }}}}{PAGE}{{{{ end }}}}"
        )
    annotations = {
        "summary": told + alert.summary,
        "runbook_url": runbook_of(alert, page),
        "page": page_of(page),
    }
    if alert.severity is Severity.PAGE and isinstance(
        alert.when, WhenHealth | AtFault
    ):
        annotations["time_to_loss"] = (
            f"{_ask(f'min({TIME_TO_LOSS.name}{{}})', BY_FLOW)}"
            "{{ . | first | value | humanizeDuration }}"
            "{{ else }}not known{{ end }}"
        )
        annotations["cause"] = (
            f"{_ask(f'{CAUSE}{{}} > 0', BY_FLOW)}"
            '{{ . | first | label "cause" }}{{ else }}not known{{ end }}'
        )
    return annotations


def _ask(expression: str, labels: str) -> str:
    """Return the beginning of a template that asks Prometheus.

    Parameters
    ----------
    expression
        Expression of the query, with ``{}`` where the labels go.
    labels
        Labels of the alert that what is asked for has too.
    """
    names = labels.split(", ")
    matchers = ",".join(f"{name}=%q" for name in names)
    text = expression.replace("{}", f"{{{matchers}}}")
    values = " ".join(f"$labels.{name}" for name in names)
    return f'{{{{ with printf "{text}" {values} | query }}}}'


def _expression(alert: Alert, when: Condition) -> str:
    gap = _duration(alert.gap)
    match when:
        case WhenHealth() | AtFault():
            return _reported(alert, when)
        case Silent(metric=metric):
            return f"absent({metric.name})"
        case Vanished(metric=metric):
            gone = f"last_over_time({metric.name}[{_duration(FORGET)}])"
            return (
                f"group by ({BY_FLOW}) ({gone})\n"
                f"  unless on ({BY_FLOW}) {metric.name}\n"
                # That of a dead agent is reported once, not for each flow, as
                # is one that makes no ticks and says nothing of its flows.
                f"  and on () group({LAST_TICK.name})\n"
                f"  unless on ({BY_AGENT}) time() - {LAST_TICK.name}"
                f" > {STUCK.total_seconds():g}"
            )
        case Old():
            return _too_old(alert, when)
        case Above(metric=metric, bound=bound, below=below):
            is_so = f"{'<' if below else '>'} {bound:g}"
            return f"last_over_time({metric.name}[{gap}]) {is_so}"
        case Grows(metric=metric, within=within):
            return f"increase({metric.name}[{_duration(within)}]) > 0"


UNSEEN = 3 * SILENCE
"""Time for which an agent that dies is still said to be stuck: until its
silence has an alert for certain, `SILENCE` after its series ends. That may
take another five minutes, where Prometheus does not see the end itself."""


def _too_old(alert: Alert, when: Old) -> str:
    """Return when a time is too old, or its series ended while it was.

    Notes
    -----
    An agent that is restarted elsewhere has a series of its own, and ends it.
    """
    name, age = when.metric.name, f"{when.age.total_seconds():g}"
    now, unseen = (
        f"time() - last_over_time({name}[{_duration(time)}]) > {age}"
        for time in (alert.gap, UNSEEN)
    )
    fires = f'ALERTS{{alertname="{alert.name}", alertstate="firing"}}'
    return (
        f"{now}\n"
        f"  or ({unseen} and on ({BY_AGENT}) {fires}"
        f" unless on ({BY_AGENT}) time() - {name} <= {age})"
    )


def _reported(alert: Alert, when: WhenHealth | AtFault) -> str:
    if isinstance(when, AtFault):
        return _at_fault(alert, when)
    return _judged(alert, when)


def _judged(alert: Alert, when: WhenHealth) -> str:
    """Return when a check is so, or is not known to be better again.

    Notes
    -----
    Prometheus ends an alert whose series is gone, and notifies people that it
    is resolved. So one that fires goes on until its check is seen to be
    better, and not for a moment only: neither silence nor `unknown` is
    better. Nor is it better that one is bad which was not known: that alert
    goes on until another on the same check fires, or a page would be resolved
    where nothing is. Maintenance holds back new ones only.
    """
    of = f'{{check="{when.check}"}}'
    bad, unknown = when.health.value, Health.UNKNOWN.value
    fires = f'ALERTS{{alertname="{alert.name}", alertstate="firing"}}'
    now = f"last_over_time({NOW}{of}[{_duration(alert.gap)}])"
    worst = f"max_over_time({LAST}{of}[{_duration(alert.recovery)}])"
    if when.or_worse:
        recently = f"max_over_time({NOW}{of}[{_duration(alert.recent)}])"
        begins = f"{now} >= {unknown} and {recently} >= {bad}"
        goes_on = f"{worst} >= {unknown}"
    elif when.health is Health.UNKNOWN:
        known = alert.name.removesuffix("Unknown") + "(Critical|Warning)"
        instead = f'ALERTS{{alertname=~"{known}", alertstate="firing"}}'
        begins = f"{now} == {bad}"
        goes_on = (
            f"({LAST}{of} == {bad}"
            f" or {worst} >= {bad} unless on ({BY_FLOW}) {instead})"
        )
    else:
        begins = f"{now} == {bad}"
        goes_on = f"({worst} == {bad} or {LAST}{of} == {unknown})"
    return (
        f"({begins} unless on ({BY_FLOW}) {HELD} == 1)\n"
        f"  or ({goes_on} and on ({BY_FLOW}) {fires})"
    )


def _at_fault(alert: Alert, when: AtFault) -> str:
    """Return when a part is at fault, or is not known to be well again.

    Notes
    -----
    An agent that knows of no copies names no part, as after its start.
    """
    bad, unknown = when.health.value, Health.UNKNOWN.value
    now = f"last_over_time({CAUSE}[{_duration(alert.gap)}])"
    worst = f"max_over_time({LAST_CAUSE}[{_duration(alert.recovery)}])"
    fires = f'ALERTS{{alertname="{alert.name}", alertstate="firing"}}'
    copies = f'{LAST}{{check=~"canary|lag"}}'
    is_on = f"{copies} > {Health.OFF.value}"
    blind = (
        f"(max by ({BY_FLOW}) ({copies}) == {unknown}"
        f" and min by ({BY_FLOW}) ({is_on}) == {unknown})"
    )
    goes_on = f"({worst} >= {bad} or {LAST_CAUSE} and on ({BY_FLOW}) {blind})"
    return (
        f"({now} >= {bad} unless on ({BY_FLOW}) {HELD} == 1)\n"
        f"  or ({goes_on} and on ({BY_FLOW}, cause) {fires})"
    )


def _duration(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


def _write_text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)
