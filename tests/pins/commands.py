"""How commands end that need no Kafka: exit status, and where they speak."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.http import serving
from tests.support.webhook import Webhook, serve_webhook

from .seam import (
    COMMANDS,
    EXAMPLE,
    invoke,
    keep_audits,
    keep_state,
    serve_scene,
)

__all__ = ["commands"]

Names = dict[str, str]
"""What stands for what in a command and in its output."""

Situation = Callable[[Path], AbstractContextManager[Names]]

WINDOW = "--from 2026-11-20T00:00Z --to 2026-11-21T00:00Z"

CONFIG = """
clusters:
  summit: {{kafka: {{bootstrap.servers: "127.0.0.1:1"}}}}
  ldf: {{kafka: {{bootstrap.servers: "127.0.0.1:2"}}}}
flows:
  - source: summit
    target: ldf
    topics: {{include: ["a"]}}
    mirror: {{kind: mirrormaker2}}
state: {{path: "{folder}/state.db"}}
audit: {{schedule: "0 2 * * *", out: "{folder}/audit"}}
"""

NOTIFY = """
sinks: {{notify: {{receivers: [{{name: r0, kind: webhook, url: "{hook}"}}]}}}}
"""


@contextmanager
def _nothing(folder: Path) -> Iterator[Names]:
    file = folder / "config.yaml"
    file.write_text(CONFIG.format(folder=folder))
    bad = folder / "bad.yaml"
    bad.write_text("clusters: {}\nflows: []\nno_such_key: 1\n")
    yield {
        "folder": str(folder),
        "config": str(file),
        "bad": str(bad),
        "example": str(EXAMPLE),
        "missing": str(folder / "missing.yaml"),
    }


def _agent(scene: str, *, gone: bool = False) -> Situation:
    @contextmanager
    def there(folder: Path) -> Iterator[Names]:
        with _nothing(folder) as names, serve_scene(scene) as url:
            if not gone:
                yield names | {"url": url}
        if gone:
            yield names | {"url": url}

    return there


@contextmanager
def _stranger(folder: Path) -> Iterator[Names]:
    with _nothing(folder) as names, serving(b'{"flows": "many"}') as url:
        yield names | {"url": url}


@contextmanager
def _state(folder: Path) -> Iterator[Names]:
    keep_state(folder / "state.db")
    with _nothing(folder) as names:
        yield names


def _audits(kind: str) -> Situation:
    @contextmanager
    def there(folder: Path) -> Iterator[Names]:
        keep_audits(folder / "audit", kind)
        with _nothing(folder) as names:
            yield names

    return there


def _hook(change: Callable[[Webhook], None]) -> Situation:
    @contextmanager
    def there(folder: Path) -> Iterator[Names]:
        with _nothing(folder) as names, serve_webhook() as webhook:
            change(webhook)
            file = Path(names["config"])
            hook = NOTIFY.format(hook=webhook.url)
            file.write_text(file.read_text() + hook)
            yield names | {"port": str(webhook.port)}

    return there


def _refuse(webhook: Webhook) -> None:
    webhook.status = 403


CASES: dict[str, tuple[Situation, tuple[str, ...]]] = {
    "nothing": (
        _nothing,
        (
            "",
            "--help",
            "--version",
            "no-such-command",
            *(f"{command} --help" for command in COMMANDS),
            "check-config",
            "check-config --config {example}",
            "check-config --config {example} --json",
            "check-config --config {bad}",
            "check-config --config {missing}",
            "check-config --no-such-option",
            "run",
            "run --config {bad}",
            "once --config {bad}",
            "once --config {config} --for soon",
            "status --url 127.0.0.1:8080",
            "maintenance --config {config}",
            "maintenance --config {config} --for 2h",
            "maintenance --config {config} --end --for 2h --reason x",
            "maintenance --config {config} --for 30d --reason x",
            "maintenance --config {config} --flow nowhere",
            "notify --config {config}",
            "notify --config {config} --test",
            "audit report --config {config}",
            "audit report --config {config} nightly-2026-11-21",
            "audit history --config {config}",
            "audit run --config {bad}",
            "audit run --config {config} --from yesterday --to today",
            "audit run --config {config} --date 2026-11-20 " + WINDOW,
            "audit run --config {config} --flow nowhere " + WINDOW,
            "audit digest --config {config} --side source --out {folder}/d",
            "audit digest --config {config} --side both --plan p --out d",
            "audit compare --config {config} {folder}/a",
            "dashboards list",
            "dashboards push --sites {missing} --from a --to b",
            "alerts diff",
            "lab faults --no-such-option",
            "demo --minutes 0",
        ),
    ),
    "a healthy agent": (
        _agent("healthy"),
        ("status --url {url}", "status --url {url} --json"),
    ),
    "an agent whose flow fails": (
        _agent("broken"),
        ("status --url {url}", "status --url {url} --json"),
    ),
    "an agent with a flow that is only unknown": (
        _agent("unknown"),
        ("status --url {url}",),
    ),
    "an agent with a warning": (_agent("warning"), ("status --url {url}",)),
    "an agent that has not judged yet": (
        _agent(""),
        ("status --url {url}", "status --url {url} --json"),
    ),
    "an agent that is gone": (
        _agent("healthy", gone=True),
        ("status --url {url}", "status --url {url} --json"),
    ),
    "somebody else": (_stranger, ("status --url {url}",)),
    "a state file": (
        _state,
        (
            "maintenance --config {config}",
            "maintenance --config {config} --json",
            "maintenance --config {config} --for 2h --reason upgrade",
            "maintenance --config {config} --end",
        ),
    ),
    "a clean audit": (
        _audits("clean"),
        ("audit report --config {config}", "audit history --config {config}"),
    ),
    "an audit with findings": (
        _audits("findings"),
        (
            "audit report --config {config}",
            "audit report --config {config} --html {folder}/report.html",
            "audit history --config {config} --last 1",
        ),
    ),
    "an audit with gaps": (
        _audits("gaps"),
        ("audit report --config {config}",),
    ),
    "an audit of another version": (
        _audits("another version"),
        ("audit report --config {config}",),
    ),
    "a receiver of notices": (
        _hook(lambda _: None),
        ("notify --config {config} --test",),
    ),
    "a receiver that refuses": (
        _hook(_refuse),
        ("notify --config {config} --test",),
    ),
}


def commands() -> dict[str, dict[str, Any]]:
    """Return how each command ends, by situation."""
    return {name: _run(*case) for name, case in CASES.items()}


def _run(situation: Situation, lines: tuple[str, ...]) -> dict[str, Any]:
    ends = {}
    for line in lines:
        with TemporaryDirectory() as folder, situation(Path(folder)) as names:
            status, out, err = invoke(line.format(**names).split())
        is_json = "--json" in line and status in {0, 3}
        for name, value in names.items():
            out = out.replace(value, f"<{name}>")
        ends[line] = {
            "exit": status,
            "stdout": json.loads(out) if is_json else _speaks(out),
            "stderr": _speaks(err),
        }
    return ends


def _speaks(output: str) -> str:
    return "text" if output.strip() else ""
