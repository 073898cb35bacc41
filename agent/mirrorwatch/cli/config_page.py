"""Prints what a configuration means, for a person at a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["print_page"]

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
        What `summarize` made; secrets are hidden already.
    console
        Where to print it.
    """
    config = summary["config"]
    console.print(Text(f"{summary['file']} can be used.", style="bold green"))
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
    figures = f"JMX by {jmx['format']}" if jmx else "no JMX"
    naming = block["naming"]["policy"]
    return [
        ("mirror", f"{mirror['kind']}, {mirror['mode']}, {figures}"),
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
    return "; ".join(parts)


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
    address = f"http://{listen}/"
    if listen.endswith(":0"):
        address = f"{address} (0: a free port)"
    rows = [
        ("page", address),
        ("Prometheus", "/metrics of the page's address"),
        ("InfluxDB", _describe_influxdb(config["sinks"]["influxdb"])),
        ("notices", _describe_notices(config["sinks"]["notify"])),
        ("state file", config["state"]["path"]),
    ]
    if config["audit"]:
        audit = config["audit"]
        rows.append(("audit", f"{audit['schedule']} {audit['timezone']}"))
    return rows


def _describe_notices(notify: Mapping[str, Any] | None) -> str:
    if notify is None:
        return "none"
    names = [f"{r['name']} ({r['kind']})" for r in notify["receivers"]]
    return f"from {notify['minimum']} on, to {', '.join(names)}"


def _describe_influxdb(influxdb: Mapping[str, Any] | None) -> str:
    if influxdb is None:
        return "none"
    place = f"bucket {influxdb['bucket']} of {influxdb['org']}"
    if influxdb["bucket"] is None:
        place = f"database {influxdb['database']}"
    return f"{influxdb['url']}, {place}"
