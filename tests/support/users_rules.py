"""Rules that users have made by hand, at real Kapacitors."""

from typing import Any

from tests.support.two_sites import SECRET, RealSite

__all__ = ["SCRIPT", "TASKS", "TEMPLATE", "TOPICS"]
__all__ += ["make_own_rule", "make_rules"]

SCRIPT = """\
var db = 'efd_stand'
var rp = 'week'
stream
    |from()
        .database(db)
        .retentionPolicy(rp)
        .measurement('stand.dome')
        .groupBy('topic')
        .where(lambda: "topic" == 'stand.dome')
    |alert()
        .id('dome')
        .crit(lambda: "angle" > 10.0)
        .message('see http://stand.example:1/hook/dome')
        .topic('stand.dome')
    |influxDBOut()
        .database(db)
        .retentionPolicy(rp)
        .measurement('stand.alerts')
        .flushInterval(1s)
"""

TEMPLATE = """\
var db string
var rp string
var limit = 1.0
var every = 10s
stream
    |from()
        .database(db)
        .retentionPolicy(rp)
        .measurement('stand.dome')
    |alert()
        .id('template')
        .warn(lambda: "angle" > limit)
        .topic('stand.warnings')
"""

RULE: dict[str, Any] = {
    "name": "Dome too far",
    "every": "",
    "message": "dome at {{ .Level }}",
    "trigger": "threshold",
    "values": {"operator": "greater than", "value": "20"},
    "alertNodes": {
        "post": [{"url": "http://stand.example:1/hook", "headers": {}}],
        "slack": [{"channel": "#stand", "workspace": ""}],
    },
    "query": {
        "database": "efd_stand",
        "measurement": "stand.dome",
        "retentionPolicy": "week",
        "fields": [{"value": "angle", "type": "field", "alias": ""}],
        "tags": {"topic": ["stand.dome"]},
        "groupBy": {"time": "", "tags": []},
        "areTagsAccepted": True,
    },
}
"""A rule as Chronograf's form for rules sends it."""

TASKS = "/kapacitor/v1/tasks"
TOPICS = "/kapacitor/v1/alerts/topics"


def make_rules(stand: RealSite) -> None:
    """Make a task, one of a template, handlers, and a rule in Chronograf."""
    dbrps = [{"db": "efd_stand", "rp": "week"}]
    stand.kapacitor.ask(
        "POST",
        TASKS,
        json={
            "id": "dome",
            "type": "stream",
            "dbrps": dbrps,
            "script": SCRIPT,
            "status": "enabled",
        },
    )
    stand.kapacitor.ask(
        "POST",
        "/kapacitor/v1/templates",
        json={"id": "warn", "type": "stream", "script": TEMPLATE},
    )
    stand.kapacitor.ask(
        "POST",
        TASKS,
        json={
            "id": "warn-dome",
            "template-id": "warn",
            "dbrps": dbrps,
            "status": "enabled",
            "vars": {
                "db": {"type": "string", "value": "efd_stand"},
                "rp": {"type": "string", "value": "week"},
                "limit": {"type": "float", "value": 5.5},
                "every": {"type": "duration", "value": "7s"},
            },
        },
    )
    handlers = (
        ("stand.dome", "all", "publish", {"topics": ["stand.all"]}),
        (
            "stand.dome",
            "page",
            "pagerduty2",
            {"routing-key": f"{SECRET}-stand"},
        ),
    )
    for topic, name, kind, options in handlers:
        stand.kapacitor.ask(
            "POST",
            f"{TOPICS}/{topic}/handlers",
            json={"id": name, "kind": kind, "options": options},
        )
    source = f"/chronograf/v1/sources/{stand.sources['efd']}/kapacitors"
    made = stand.chronograf.ask(
        "POST", source, json={"name": "k", "url": stand.kapacitor.url}
    )
    stand.chronograf.ask("POST", f"{source}/{made['id']}/rules", json=RULE)


def make_own_rule(summit: RealSite) -> None:
    """Make a rule that nobody else may touch."""
    summit.kapacitor.ask(
        "POST",
        TASKS,
        json={
            "id": "own",
            "type": "stream",
            "script": 'dbrp "efd"."raw"\nstream|from()|httpOut(\'x\')',
            "status": "enabled",
        },
    )
