"""Alerts as rules of Prometheus. Pure."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

import yaml

from mirrorwatch.domain.audit import metrics as audit
from mirrorwatch.domain.bottleneck.metrics import ERRORS
from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.failover.metrics import RPO_SECONDS
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.losses.metrics import LOST
from mirrorwatch.domain.notices.model import GAP, Severity
from mirrorwatch.domain.parity import metrics as parity
from mirrorwatch.domain.readers import metrics as readers
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import (
    CHECK_HEALTH,
    FLOW_CAUSE,
    FLOW_INFO,
    LAST_TICK,
    MAINTENANCE,
    SOURCE_UP,
)
from mirrorwatch.domain.schemas import metrics as schemas
from mirrorwatch.domain.tasks import metrics as tasks

from .alerts import (
    PAGE,
    SERVICE,
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
    runbook_of,
    subject_of,
)

__all__ = ["FORGET", "KEEP", "RATIO", "rules"]


AGENT = ("job", "namespace", "cluster")
"""Labels by which a central Prometheus keeps agents apart. Not `instance` or
`pod`: an agent that moves to another machine is no other agent, and alerts
must not end and begin with it."""

BY_AGENT = ", ".join(AGENT)
BY_FLOW = f"{BY_AGENT}, flow"

FORGET = timedelta(days=1)
"""Memory of a flow that is no longer reported, and of the address of its page:
as long as somebody who was notified takes at most to look."""

KEEP = timedelta(minutes=12)
"""Time for which an alert goes on after its condition was last seen: longer
than a check that becomes unknown, or an agent that falls silent, takes to have
an alert of its own, so that neither resolves a page."""

NOW = "mirrorwatch:check_health"
HELD = "mirrorwatch:maintenance"
CAUSE = "mirrorwatch:flow_cause"


def rules(
    alerts: Iterable[Alert],
    *,
    page: str | None = None,
    keep: timedelta = KEEP,
) -> str:
    """Return a file of rules.

    Parameters
    ----------
    alerts
        Alerts to raise.
    page
        Address of the agent's page, without a slash at its end; `None` for
        the one that each agent says it has.
    keep
        Time for which an alert on a flow goes on after its condition.

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
            *(_rule(alert, page, keep) for alert in alerts),
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
    held = f"last_over_time({MAINTENANCE.name}[{_duration(GAP)}])"
    for name, labels, of in (
        (NOW, f"{BY_FLOW}, check", CHECK_HEALTH.name),
        (CAUSE, f"{BY_FLOW}, cause", FLOW_CAUSE.name),
        (HELD, BY_FLOW, held),
    ):
        yield {"record": name, "expr": f"max by ({labels}) ({of})"}


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


def _rule(alert: Alert, page: str | None, keep: timedelta) -> dict[str, Any]:
    is_kept = isinstance(alert.when, WhenHealth | AtFault | Old)
    return {
        "alert": alert.name,
        "expr": _expression(alert, alert.when),
        "for": _duration(alert.hold),
        **({"keep_firing_for": _duration(keep)} if is_kept else {}),
        "labels": {
            "severity": alert.severity.value,
            "service": SERVICE,
            **({"symptom": "true"} if alert.is_symptom else {}),
        },
        "annotations": {
            name: text.replace("{check}", "{{ $labels.check }}")
            for name, text in _annotations(alert, page).items()
        },
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
        "page": f"{page}/",
    }
    if alert.severity is Severity.PAGE and isinstance(
        alert.when, WhenHealth | AtFault
    ):
        annotations["description"] = _described(
            FACTS.get(alert.section, PARTS)
        )
        annotations["time_to_loss"] = (
            f"{_ask(f'min({lag.TIME_TO_LOSS.name}{{}})', BY_FLOW)}"
            "{{ . | first | value | humanizeDuration }}"
            "{{ else }}not known{{ end }}"
        )
        annotations["cause"] = (
            f"{_ask(f'{CAUSE}{{}} > 0', BY_FLOW)}"
            '{{ . | first | label "cause" }}{{ else }}not known{{ end }}'
        )
    return annotations


class _Fact(NamedTuple):
    """Numbers of a page, by one label, the worst first."""

    title: str
    expression: str
    """Query, with ``{}`` where the labels of the flow go."""

    label: str = ""
    unit: str = "humanize"
    """Function of templates that writes a number; empty for the label only."""


_LAG = _Fact(
    "Oldest records not copied",
    f"topk(3, {lag.LAG_SECONDS.name}{{}} > 0)",
    "topic",
    "humanizeDuration",
)
_LOST = _Fact(
    "Records lost within an hour",
    f"topk(3, round(sum by (topic) (increase({LOST.name}{{}}[1h]))) > 0)",
    "topic",
)
FACTS = {
    "cause": _LAG,
    "lag": _LAG,
    "skips": _LOST,
    "position": _LOST,
    "canary": _Fact(
        "Oldest outstanding probe",
        f"max({canary.OLDEST.name}{{}})",
        unit="humanizeDuration",
    ),
    "retention": _Fact(
        "Time to loss",
        f"bottomk(3, {lag.TIME_TO_LOSS.name}{{}})",
        "topic",
        "humanizeDuration",
    ),
    "topics": _Fact("Missing topics", f"{parity.MISSING_TOPICS.name}{{}}"),
    "tasks": _Fact(
        "Tasks", f"sum by (state) ({tasks.TASKS.name}{{}}) > 0", "state"
    ),
    "readers": _Fact(
        "Oldest records not read",
        f"topk(3, {readers.READERS_LAG_SECONDS.name}{{}} > 0)",
        "group",
        "humanizeDuration",
    ),
    "schemas": _Fact("Schemas missing", f"{schemas.MISSING_SCHEMAS.name}{{}}"),
    "bottleneck": _Fact(
        "Records dropped within an hour",
        f"round(increase({ERRORS['records_skipped'].name}{{}}[1h]))",
    ),
    "audit": _Fact("Records", f"{audit.IN_ALL.name}{{}} > 0", "kind"),
    "latency": _Fact(
        "p99 of 5 minutes",
        "histogram_quantile(0.99, sum by (le)"
        f" (rate({canary.LATENCY.name}_bucket{{}}[5m])))",
        unit="humanizeDuration",
    ),
    "failover": _Fact(
        "Recovery point",
        f"{RPO_SECONDS.name}{{}}",
        unit="humanizeDuration",
    ),
    "{check}": _Fact(
        "Sources without fresh data",
        f"{SOURCE_UP.name}{{}} == 0",
        "source",
        "",
    ),
}
"""Facts by section of the runbook, for the description of a page."""

PARTS = _Fact("Parts at fault", f"{CAUSE}{{}} > 0", "cause", "")
"""Fact of a check that has no number."""


def _described(fact: _Fact) -> str:
    name = f"{{{{ .Labels.{fact.label} }}}}" if fact.label else ""
    value = f"{{{{ .Value | {fact.unit} }}}}" if fact.unit else ""
    return (
        f"{fact.title}: {_ask(fact.expression, BY_FLOW, each=True)}"
        f"{{{{ if $i }}}}, {{{{ end }}}}{f'{name} {value}'.strip()}"
        "{{ else }}none known{{ end }}"
    )


def _ask(expression: str, labels: str, *, each: bool = False) -> str:
    """Return the beginning of a template that asks Prometheus.

    Parameters
    ----------
    expression
        Expression of the query, with ``{}`` where the labels go.
    labels
        Labels of the alert that what is asked for has too.
    each
        Goes through all samples, with their index as ``$i``.
    """
    names = labels.split(", ")
    matchers = ",".join(f"{name}=%q" for name in names)
    text = expression.replace("{}", f"{{{matchers}}}")
    values = " ".join(f"$labels.{name}" for name in names)
    begin = "range $i, $_ :=" if each else "with"
    return f'{{{{ {begin} printf "{text}" {values} | query }}}}'


def _expression(alert: Alert, when: Condition) -> str:
    gap = _duration(alert.gap)
    match when:
        case WhenHealth() | AtFault():
            is_so = _judged(alert, when)
            return f"{is_so}\n  unless on ({BY_FLOW}) {HELD} == 1"
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
        case Old(metric=metric, age=age):
            seconds = f"{age.total_seconds():g}"
            return f"time() - last_over_time({metric.name}[{gap}]) > {seconds}"
        case Above(metric=metric, bound=bound, below=below):
            is_so = f"{'<' if below else '>'} {bound:g}"
            return f"last_over_time({metric.name}[{gap}]) {is_so}"
        case Grows(metric=metric, within=within):
            return f"increase({metric.name}[{_duration(within)}]) > 0"


def _judged(alert: Alert, when: WhenHealth | AtFault) -> str:
    """Return when a check or a part is so, by its last sample within a gap."""
    gap, bad = _duration(alert.gap), when.health.value
    if isinstance(when, AtFault):
        return f"last_over_time({CAUSE}[{gap}]) >= {bad}"
    checked = f'{NOW}{{check=~"{"|".join(when.checks)}"}}'
    if not alert.hold:
        return f"{checked} == {bad}"
    now = f"last_over_time({checked}[{gap}])"
    if not when.or_worse:
        return f"{now} == {bad}"
    recently = f"max_over_time({checked}[{_duration(alert.recent)}])"
    return f"{now} >= {Health.UNKNOWN.value} and {recently} >= {bad}"


def _duration(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


def _write_text(dumper: _Dumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)
