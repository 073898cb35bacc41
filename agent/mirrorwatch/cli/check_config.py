"""`mirrorwatch check-config`: checks and explains a configuration."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..config import CanaryConfig, Config, FlowConfig
from ..config.base import ConfigProblem, YamlPath, format_path
from ..config.canary import estimate_cost
from ..config.display import to_display
from ..config.notes import check_clients, find_notes
from ..exceptions import WebError
from ..secrets import HIDDEN, hide_secrets
from .options import config_path_option

__all__ = ["command", "print_page", "summarize"]


SHOWN_PROPERTIES = (
    "bootstrap.servers",
    "metadata.broker.list",
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
)
"""Kafka properties worth a line; `--json` has all of them."""

Rows = list[tuple[str, str]]


def print_page(summary: Mapping[str, Any], console: Console) -> None:
    """Print a summary.

    Parameters
    ----------
    summary
        Summary by `summarize`; secrets are redacted already.
    console
        Console to print it on.
    """
    config, left = summary["config"], summary.get("not_followed", ())
    if left:
        text = f"{summary['file']} has no error. Not checked (references):"
        console.print(Text(text, style="bold green"))
        for key in left:
            console.print(Text(f"  {key}"))
    else:
        text = f"{summary['file']} can be used."
        console.print(Text(text, style="bold green"))
    if config is None:
        return
    _print(console, "Clusters", _describe_clusters(config["clusters"]))
    for flow, block in zip(summary["flows"], config["flows"], strict=True):
        _print(console, f"Flow {flow['name']}", _describe_flow(flow, block))
    _print(console, "Outputs", _describe_outputs(config))
    if summary["notes"]:
        _print(console, "Notes", [("!", note) for note in summary["notes"]])


def _print(console: Console, title: str, rows: Rows) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        # Text, as names and regexes are full of square brackets.
        table.add_row(Text(name, style="cyan"), Text(value))
    heading = Text(f"\n{title}", style="bold")
    console.print(Group(heading, Padding(table, (0, 0, 0, 2))))


def _describe_clusters(clusters: Mapping[str, Any]) -> Rows:
    rows = []
    for alias, cluster in clusters.items():
        kafka = cluster["kafka"]
        parts = [kafka[key] for key in SHOWN_PROPERTIES if key in kafka]
        if cluster["schema_registry"]:
            parts.append(f"schemas at {cluster['schema_registry']['url']}")
        rows.append((alias, ", ".join(parts)))
    return rows


def _describe_flow(flow: Mapping[str, Any], block: Mapping[str, Any]) -> Rows:
    mirror, example = block["mirror"], flow["example"]
    jmx = mirror["jmx"]
    metrics = f"JMX by {jmx['format']}" if jmx else "no JMX"
    naming = block["naming"]["policy"]
    return [
        ("mirror", f"{mirror['kind']}, {mirror['mode']}, {metrics}"),
        ("topics", _describe_topics(block["topics"])),
        (
            "naming",
            f"{naming}: {example['topic']} -> {example['target_topic']}",
        ),
        *_describe_canary(flow["canary"], block["canary"]),
    ]


def _describe_topics(topics: Mapping[str, Any]) -> str:
    parts = [f"{_join(topics['include'])}, without {_join(topics['exclude'])}"]
    if not topics["exclude"]:
        parts = [_join(topics["include"])]
    if topics["merged"]:
        parts.append(f"merged: {_join(topics['merged'])}")
    if topics["filtered"]:
        parts.append(f"filtered: {_describe_filtered(topics['filtered'])}")
    return "; ".join(parts)


def _describe_filtered(rules: list[dict[str, Any]] | str) -> str:
    if isinstance(rules, str):
        return rules  # hidden
    return " ".join(
        rule["pattern"]
        + (f" (at most {rule['at_most']})" if rule["at_most"] else "")
        for rule in rules
    )


def _join(patterns: list[str] | str) -> str:
    return patterns if isinstance(patterns, str) else " ".join(patterns)


def _describe_canary(
    canary: Mapping[str, Any] | None, block: Mapping[str, Any]
) -> Rows:
    if canary is None:
        return [("canary", "off")]
    names = f"{canary['topic']} -> {canary['target_topic']}"
    pace = f"every {block['interval']}, late after {block['deadline']}"
    return [
        ("canary", f"{names}, {pace}"),
        ("canary's cost", _describe_cost(canary)),
    ]


def _describe_cost(canary: Mapping[str, Any]) -> str:
    each = f"{decimal(canary['partition_bytes_per_day'])} a day per partition"
    if canary["sized_bytes_per_day"]:
        each += f" and {decimal(canary['sized_bytes_per_day'])} sized"
    if canary["bytes_per_day"] is not None:
        total = f"{decimal(canary['bytes_per_day'])} a day in all"
    else:
        created = decimal(canary["bytes_per_day_if_created"])
        total = f"{created} in all if the agent creates the topic"
    return f"{each}; {total}. It crosses the link once each way."


def _describe_outputs(config: Mapping[str, Any]) -> Rows:
    listen = config["web"]["listen"]
    web = config["web"]
    scheme = "https" if web["tls_server_config"] else "http"
    address = f"{scheme}://{listen}/"
    if listen.endswith(":0"):
        address = f"{address} (0: a free port)"
    rows = [
        ("page", address),
        ("login", _describe_login(web)),
        ("Prometheus", "/metrics of the page's address"),
        ("InfluxDB", _describe_influxdb(config["sinks"]["influxdb"])),
        ("notifications", _describe_notifications(config["sinks"]["notify"])),
        ("state file", config["state"]["path"]),
    ]
    if config["audit"]:
        audit = config["audit"]
        rows.append(("audit", f"{audit['schedule']} {audit['timezone']}"))
    return rows


def _describe_login(web: Mapping[str, Any]) -> str:
    tls = web["tls_server_config"] or {}
    ways = {
        "password": web["basic_auth_users"],
        "token": web["bearer_tokens"],
        "client certificate": tls and tls["client_ca_file"],
    }
    return " or ".join(name for name, way in ways.items() if way) or "none"


def _describe_notifications(notify: Mapping[str, Any] | None) -> str:
    if notify is None:
        return "none"
    names = [f"{r['name']} ({r['kind']})" for r in notify["receivers"]]
    return f"from {notify['minimum']} on, to {', '.join(names)}"


def _describe_influxdb(influxdb: Mapping[str, Any] | None) -> str:
    if influxdb is None:
        return "none"
    where = f"bucket {influxdb['bucket']} of {influxdb['org']}"
    if influxdb["bucket"] is None:
        where = f"database {influxdb['database']}"
    return f"{influxdb['url']}, {where}"


LIKELY_TOPICS = ("lsst.sal.ATDome.position", "orders")
"""Shown as an example where the flow carries them: more readable than the
shortest name that its regexes allow."""


def summarize(config: Config) -> dict[str, Any]:
    """Return what a configuration means, secrets hidden.

    ``flows`` and ``notes`` are derived from the configuration; ``config`` is
    all of it, with its defaults.
    """
    return {
        "file": None if config.file is None else str(config.file),
        "flows": [_summarize_flow(flow) for flow in config.flows],
        "notes": find_notes(config),
        "config": to_display(config),
    }


def _summarize_flow(flow: FlowConfig) -> dict[str, Any]:
    topic = _pick_topic(flow)
    return {
        "name": HIDDEN if flow.is_hidden("name") else hide_secrets(flow.name),
        "example": {
            "topic": hide_secrets(topic),
            "target_topic": _rename(flow, topic),
        },
        "canary": _summarize_canary(flow, flow.canary),
    }


def _summarize_canary(
    flow: FlowConfig, canary: CanaryConfig
) -> dict[str, Any] | None:
    if not canary.enabled:
        return None
    hidden = canary.is_hidden("topic")
    topic = HIDDEN if hidden else hide_secrets(canary.topic)
    cost = estimate_cost(canary)
    return {
        "topic": topic,
        "target_topic": HIDDEN if hidden else _rename(flow, topic),
        "partitions": cost.partitions,
        "partition_bytes_per_day": cost.partition_bytes_per_day,
        "sized_bytes_per_day": cost.sized_bytes_per_day,
        "bytes_per_day": cost.bytes_per_day,
        "bytes_per_day_if_created": cost.created_bytes_per_day,
    }


def _pick_topic(flow: FlowConfig) -> str:
    if flow.topics.is_hidden("include"):
        return "topic"
    for topic in LIKELY_TOPICS:
        if flow.selection.matches(topic):
            return topic
    return "topic"


def _rename(flow: FlowConfig, topic: str) -> str:
    hidden = flow.mirror.is_hidden("source_alias") or any(
        flow.naming.is_hidden(name) for name in ("separator", "format")
    )
    return HIDDEN if hidden else hide_secrets(flow.topic_naming.remote(topic))


def _show_unfollowed(unfollowed: Sequence[YamlPath]) -> list[str]:
    return [format_path(path) for path in unfollowed]


def _check_certificate(config: Config) -> None:
    """Check that the page can be served with its certificate.

    Raises
    ------
    ConfigError
        Raised if it cannot.
    """
    if config.web.tls_server_config is None:
        return
    from ..factory import to_tls  # noqa: PLC0415 - the agent, rarely needed

    tls = to_tls(config.web)
    try:
        if tls is not None:
            tls.load()
    except WebError as e:
        problem = ConfigProblem(
            ("web", "tls_server_config"), str(e), shows_value=False
        )
        raise config.document.to_error([problem]) from e


@click.command(
    "check-config",
    epilog="Example: mirrorwatch check-config --config mirrorwatch.yaml",
)
@config_path_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--without-secrets",
    is_flag=True,
    help="Follow no reference to the environment or to files: for a pipeline "
    "that has no secrets. Their values, and files with certificates and keys, "
    "are not checked.",
)
def command(path: Path, *, as_json: bool, without_secrets: bool) -> None:
    """Check the configuration and explain it.

    Nothing is connected to. References to the environment and to files are
    followed, so run it as the agent's user, or with --without-secrets. Exit
    status 2 if the configuration cannot be used.
    """
    config: Config | None
    unfollowed: tuple[YamlPath, ...] = ()
    if without_secrets:
        config, unfollowed = Config.from_file_unfollowed(path)
    else:
        config = Config.from_file(path)
    summary: dict[str, Any]
    if config is None:
        summary = {"file": str(path), "flows": [], "notes": [], "config": None}
    else:
        check_clients(config, unfollowed if without_secrets else None)
        if not without_secrets:
            _check_certificate(config)
        summary = summarize(config)
    if without_secrets:
        summary["not_followed"] = _show_unfollowed(unfollowed)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        print_page(summary, Console(highlight=False))
