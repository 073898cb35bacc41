"""No secret is in anything that a running agent or a command puts out.

Every key of the schema that takes a text has a secret of its own here, by a
reference or, if the key is that of a secret, in the file itself. Nothing
answers: so clients, servers and libraries are quoted as much as ever.
"""

import base64
import io
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, get_origin
from urllib.parse import quote

import bcrypt
import click
import httpx
import pytest
import structlog
import yaml
from click.testing import CliRunner
from pydantic import SecretStr

from mirrorwatch.cli import main
from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent, Daemon
from mirrorwatch.exceptions import AuditError
from mirrorwatch.factory import build_agent
from mirrorwatch.log import configure_logging
from mirrorwatch.state import Database
from mirrorwatch.web import app as web_app
from tests.support.bad_configs import schema_keys
from tests.support.webhook import until

pytestmark = pytest.mark.slow

SHOWN_TO_ALL = {"flows.0.name", "web.url", "sinks.notify.receivers.0.name"}
"""Names that everybody sees: a reference there is refused."""

ELSEWHERE = {
    "clusters.a.cluster_id": "a cluster that does not answer has none",
    "flows.0.source": "an alias, which is a key of the file",
    "flows.0.target": "an alias, which is a key of the file",
    "audit.schedule": "has a form in which nothing secret fits",
    "audit.timezone": "is one of a list",
    "audit.memory": "a size",
    "flows.0.naming.separator": "cannot stand beside `format`",
    "flows.0.mirror.separator": "cannot stand beside `format`",
    "flows.0.mirror.group": "cannot stand beside `jmx`: has a flow of its own",
    **dict.fromkeys(
        [
            "flows.0.mirror.zookeeper.servers",
            "flows.0.mirror.zookeeper.user",
            "flows.0.mirror.zookeeper.password",
        ],
        "cannot stand beside `jmx`: tests/kafka/zookeeper_test.py",
    ),
}
"""Keys without a secret, and why; `planted_test.py` tries them alone."""


LOGIN = httpx.BasicAuth("visitor", "page")
WRONG = httpx.BasicAuth("visitor", "no")
PROBED = {"/healthz", "/readyz", "/api/audit/results"}
HASHED = bcrypt.hashpw(b"page", bcrypt.gensalt(4)).decode()


@dataclass
class Plants:
    """What was planted, and where references find it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, text: str = "plant") -> str:
        """Return a secret that stands in the file itself."""
        self.values[name] = f"{text}{len(self.values):02}hunter"
        return self.values[name]

    def env(self, name: str, value: str = "") -> str:
        """Return a reference to a variable with a secret."""
        self.values[name] = value or self.put(name)
        variable = f"PLANT_{len(self.values)}"
        self.environment[variable] = self.values[name]
        return f"${{env:{variable}}}"

    def file(self, name: str) -> str:
        """Return a reference to a file with a secret."""
        path = self.folder / f"{len(self.values)}.secret"
        path.write_text(self.put(name) + "\n")
        return f"${{file:{path}}}"

    def found_in(self, output: str | bytes) -> list[str]:
        """Return what of it is in an output, in any usual encoding."""
        text = output if isinstance(output, str) else output.decode("latin-1")
        text = text.lower()
        return [
            name
            for name, value in self.values.items()
            for form in (
                value,
                quote(value, safe=""),
                base64.b64encode(value.encode()).decode().rstrip("="),
            )
            if form.lower() in text
        ]


def a_config(plants: Plants, *, old: bool) -> dict[str, Any]:
    """Return a configuration full of secrets, with InfluxDB 1.8 or 2."""
    env, put, file = plants.env, plants.put, plants.file
    influxdb: dict[str, Any] = {
        "url": f"http://{env('influxdb', '127.13.37.5')}:1",
    }
    if old:
        influxdb |= {
            "database": env("database"),
            "retention_policy": env("policy"),
            "username": env("influxdb user"),
            "password": put("influxdb password"),
        }
    else:
        influxdb |= {
            "org": env("org"),
            "bucket": env("bucket"),
            "token": file("token"),
        }
    state = plants.folder / "state.db"
    return {
        "interval": "1s",
        "clusters": {
            "a": {
                "kafka": {
                    "bootstrap.servers": f"{env('host', '127.13.37.1')}:1,"
                    f"{env('host name')}.invalid:1",
                    "client.rack": env("rack"),
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanisms": "PLAIN",
                    "sasl.username": env("kafka user"),
                    "sasl.password": put("kafka password"),
                },
                "schema_registry": {
                    "url": f"http://{env('registry', '127.13.37.2')}:1",
                    "username": env("registry user"),
                    "password": file("registry password"),
                    "topic": env("registry topic"),
                },
            },
            "b": {
                "kafka": {
                    "bootstrap.servers": env("hosts", "127.13.37.3:1"),
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanisms": "PLAIN",
                    "sasl.username": "mirrorwatch",
                    "sasl.password": file("kafka password of b"),
                }
            },
        },
        "flows": [
            {
                "source": "a",
                "target": "b",
                "naming": {"format": env("format") + ".${topic}"},
                "topics": {
                    "include": [env("include") + ".*", "mirrorwatch.*"],
                    "exclude": [env("exclude")],
                    "merged": [env("merged")],
                    "filtered": [{"pattern": env("filtered") + ".*"}],
                },
                "classes": {"x": env("class")},
                "readers": {
                    "groups": [env("readers_group")],
                    "connectors": [env("readers_connector")],
                },
                "mirror": {
                    "added_headers": [env("mirror header")],
                    "source_alias": env("source alias"),
                    "target_alias": env("target alias"),
                    "connectors": [env("connector")],
                    "topics": {
                        name: env(f"topic of {name}")
                        for name in (
                            *("offsets", "syncs", "checkpoints"),
                            *("status", "configs"),
                        )
                    },
                    "connect": {
                        "url": f"http://{env('connect', '127.13.37.4')}:1",
                        "username": env("connect user"),
                        "password": put("connect password"),
                    },
                    "jmx": {
                        "format": "jolokia",
                        "urls": [
                            f"http://{env('jmx 1', '127.13.37.6')}:1/x",
                            env("jmx 2", "http://127.13.37.7:1/x"),
                        ],
                        "user": env("jmx user"),
                        "password": put("jmx password"),
                    },
                },
                "canary": {"topic": env("canary") + ".mirrorwatch"},
            },
            {
                "source": "b",
                "target": "a",
                "topics": {"include": ["of.a.group"]},
                "mirror": {"kind": "group", "group": env("mirror group")},
                "canary": {"enabled": False},
            },
        ],
        "web": {
            "listen": f"{env('listen', '127.13.37.8')}:0",
            "hosts": [env("web host")],
            "basic_auth_users": {
                "visitor": env("password's hash", HASHED),
            },
            "bearer_tokens": {
                "scraper": env("token's hash", "5f0c0ffee5f0c0ff" * 4),
            },
        },
        "sinks": {
            "influxdb": influxdb,
            "notify": {
                "hold": "0s",
                "receivers": [
                    {
                        "name": "hook",
                        "kind": "webhook",
                        "url": f"http://user:{put('in userinfo')}@127.0.0.1:1/"
                        f"{put('in path')}?token={put('in query')}",
                        "authorization": f"Bearer {env('bearer')}",
                    },
                    {
                        "name": "slack",
                        "kind": "slack",
                        "url": file_url(plants),
                    },
                    {
                        "name": "service",
                        "kind": "apprise",
                        "url": f"json://user:{put('of Apprise')}@127.0.0.1:1/"
                        f"{put('in its path')}",
                    },
                ],
            },
        },
        "state": {"path": f"{state.parent}/{env('state')}/state.db"},
        "audit": {
            "out": f"{plants.folder}/{env('out')}"
            if old
            else f"s3a://bucket/{env('out')}",
            "master": f"spark://{env('master')}:7077",
            "post": {
                "url": f"http://{env('post', '127.13.37.10')}:1",
                "token": file("post token"),
            },
        },
    }


def file_url(plants: Plants) -> str:
    """Return a reference to a file with the URL of a web hook."""
    path = plants.folder / "hook.secret"
    secret = plants.put("in a file", "xoxb-1234567890-")
    path.write_text(f"http://127.13.37.9:1/services/{secret}")
    plants.values["host of a hook"] = "127.13.37.9"
    return f"${{file:{path}}}"


@pytest.fixture(params=[True, False], ids=["InfluxDB 1.8", "InfluxDB 2"])
def plants(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Plants:
    plants = Plants(tmp_path)
    data = a_config(plants, old=request.param)
    plants.values["a host of b"] = "127.13.37.3"
    plants.values["a host of JMX"] = "127.13.37.7"
    for name, value in plants.environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(data))
    return plants


@contextmanager
def running(plants: Plants) -> Iterator[tuple[Agent, io.StringIO]]:
    """Run an agent that has said all it has to say; yield it and its log."""
    config = Config.from_file(plants.folder / "config.yaml")
    log = io.StringIO()
    configure_logging(json=True, level="debug", stream=log)
    logger = structlog.get_logger("mirrorwatch")
    agent = build_agent(
        config,
        database=Database(config.state.path),
        clock=Clock(),
        logger=logger,
    )
    assert agent.server is not None
    with Daemon(agent, logger=logger):
        until(lambda: is_known(agent.latest.get(), log.getvalue()))
        yield agent, log


def is_known(report: Any, log: str) -> bool:
    """Return whether every server was found not to answer."""
    reasons = " ".join(v.reason for v in report.verdicts) if report else ""
    return (
        "a does not answer" in reasons
        and "b does not answer" in reasons
        and '"sink": "influxdb"' in log
        and "Connect's REST API of a->b cannot be reached" in reasons
        and "No JMX metrics from MirrorMaker" in reasons
        and report.agent.spooled_points["influxdb"] > 0
    )


def addresses() -> Mapping[str, list[str]]:
    """Return what is asked of each address of the web server."""
    flow = quote("a->b", safe="")
    query = f"?flow={flow}"
    return {
        "/": ["/"],
        "/api/status": ["/api/status"],
        "/api/history": [
            f"/api/history{query}",
            "/api/history?flow=no",
            f"/api/history{query}&from=x",
        ],
        "/api/events": [
            "/api/events",
            "/api/events?since=2026-01-01",
            "/api/events?since=x",
        ],
        "/api/topics": ["/api/topics", f"/api/topics{query}"],
        "/api/details": [f"/api/details{query}", "/api/details"],
        "/api/audits": ["/api/audits"],
        "/api/audit/results": ["/api/audit/results"],
        "/runbook": ["/runbook"],
        "/audit/{run}": ["/audit/nightly-2026-11-21"],
        "/metrics": ["/metrics"],
        "/healthz": ["/healthz"],
        "/readyz": ["/readyz"],
        "/static": ["/static/", "/static/index.html"],
    }


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from _leaves(inner, f"{path}.{key}".lstrip("."))
        case list():
            for index, inner in enumerate(value):
                yield from _leaves(inner, f"{path}.{index}")
            yield path, value
        case _:
            yield path, value


def test_every_text_of_the_schema_has_a_secret(tmp_path: Path) -> None:
    planted: set[str] = set()
    for old in (True, False):
        plants = Plants(tmp_path)
        for path, value in _leaves(a_config(plants, old=old)):
            if "${" in str(value) or plants.found_in(str(value)):
                planted.add(path)
    texts = {
        ".".join(map(str, path))
        for path, kind in schema_keys()
        if kind in {str, SecretStr, tuple, dict} or get_origin(kind) is tuple
    }
    assert texts - planted - SHOWN_TO_ALL == set(ELSEWHERE)


def state_of(folder: Path) -> Mapping[str, bytes]:
    """Return the bytes of the state file, and the points that wait there."""
    (file,) = folder.rglob("state.db")
    found = {f.name: f.read_bytes() for f in folder.rglob("state.db*")}
    with closing(sqlite3.connect(file)) as connection:
        bodies = connection.execute("SELECT body FROM queue").fetchall()
    found["points"] = b"".join(zlib.decompress(body) for (body,) in bodies)
    assert b"health" in found["points"]
    return found


def test_no_output_of_a_running_agent_holds_a_secret(
    plants: Plants, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    create = web_app.create_app

    def remembered(*args: Any, **options: Any) -> Any:
        made.append(create(*args, **options))
        return made[-1]

    monkeypatch.setattr("mirrorwatch.factory.create_app", remembered)
    leaks: dict[str, list[str]] = defaultdict(list)
    with (
        running(plants) as (agent, log),
        httpx.Client(trust_env=False) as http,
    ):
        assert agent.server is not None
        routes = {route.path for route in made[0].routes}
        assert routes == set(addresses())
        for asked in addresses().values():
            for path in asked:
                for login in (LOGIN, WRONG):
                    answer = http.get(agent.server.url + path, auth=login)
                    refused = login is WRONG and path not in PROBED
                    assert (answer.status_code == 401) is refused
                    leaks[path] += plants.found_in(
                        f"{answer.headers}{answer.text}"
                    )
    # Labels of metrics, once a worker crashes.
    for worker in agent.workers:
        leaks[worker.name] = plants.found_in(worker.name)
    leaks["log"] = plants.found_in(log.getvalue())
    for name, content in state_of(plants.folder).items():
        leaks[name] = plants.found_in(content)
    assert not {where: what for where, what in leaks.items() if what}


WINDOW = ["--from", "2026-11-20T00:00Z", "--to", "2026-11-21T00:00Z"]

COMMANDS: Mapping[tuple[str, ...], list[list[str]]] = {
    ("audit", "compare"): [["a", "b"]],
    ("audit", "digest"): [["--side", "source", "--out", "d", *WINDOW]],
    ("audit", "freeze"): [["plan.json"], ["plan.json", "--date", "no"]],
    ("audit", "history"): [[]],
    ("audit", "report"): [[], ["no-such-run"]],
    ("audit", "run"): [[], ["--flow", "no"]],
    ("check-config",): [[], ["--json"]],
    ("doctor",): [[], ["--json"]],
    ("events",): [[], ["--json"], ["--since", "7d"]],
    ("failback",): [[], ["--json"]],
    ("maintenance",): [[], ["--flow", "no", "--for", "1h"]],
    ("notify",): [["--test"]],
    ("offsets",): [["--all-groups"], ["--all-groups", "--json"]],
    ("ack",): [["1"]],
    ("acls",): [[], ["--format", "strimzi"]],
    ("once",): [["--for", "2s"], ["--for", "2s", "--json"]],
    ("run",): [],
    ("status",): [[], ["--json"]],
}
"""Arguments of every command that takes a configuration; what `run` puts out
is looked through above."""


def wait(duration: timedelta) -> None:
    """Wait as `once` does, but for no signal."""
    Event().wait(duration.total_seconds())


def refuse_spark() -> None:
    """Do as if there was no Spark."""
    raise AuditError("There is no Spark")


def commands_with_config(
    command: click.Command, *names: str
) -> Iterator[tuple[str, ...]]:
    """Yield the commands that take a configuration."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands_with_config(inner, *names, name)
    elif any("--config" in option.opts for option in command.params):
        yield names


def test_every_command_with_a_configuration_is_tried() -> None:
    assert set(commands_with_config(main)) == set(COMMANDS)


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_no_output_of_a_command_holds_a_secret(
    names: tuple[str, ...], plants: Plants, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Spark's own output: `sources/audit/job_test.py`.
    opener = "mirrorwatch.cli.audit_options.spark_job"
    monkeypatch.setattr(opener, refuse_spark)
    monkeypatch.setattr("mirrorwatch.cli.once.wait_for_signal", wait)
    monkeypatch.chdir(plants.folder)
    config = ["--config", str(plants.folder / "config.yaml")]
    for arguments in COMMANDS[names]:
        result = CliRunner().invoke(main, [*names, *config, *arguments])
        shown = f"{result.output}{result.stderr}{result.exception!r}"
        assert result.output
        assert not plants.found_in(shown), shown
