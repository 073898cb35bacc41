"""Makes what the sink writes to, and what is kept of it for long."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from string import Template
from typing import Any, Protocol

from .config import InfluxDBConfig
from .config.base import format_duration
from .domain.catalogue import CATALOGUE
from .exceptions import SinkError
from .sinks.influxdb import InfluxDbClient
from .wiring.influxdb import to_access

__all__ = ["open_setup"]


RUN_EVERY = timedelta(hours=1)
"""How often what is new is summed up."""

LOOK_BACK = 6
"""How many runs' time each run goes over again, so that points which waited
for the server in the spool are summed up too: six hours of them, at the
price of reading each point six times."""

MEASUREMENTS = sorted({metric.measurement for metric in CATALOGUE})
"""What the agent writes. Others in the same bucket are left alone."""

FUNCTIONS = ("min", "mean", "max")
"""The worst of a gauge is its least or its largest value, and a mean hides
both; the largest value of a counter is its last."""

_QUERY = Template(
    "CREATE CONTINUOUS QUERY $name ON $database "
    "RESAMPLE EVERY $run FOR $back BEGIN "
    "SELECT $functions INTO $database.$name.:MEASUREMENT "
    "FROM $database.$policy.$measurements "
    "GROUP BY time($every), * END"
)

_TASK = Template("""\
import "date"

option task = {name: $name, every: $run, offset: 1m}

points =
    from(bucket: $bucket)
        |> range(
            start: date.truncate(t: -$back, unit: $every),
            stop: date.truncate(t: now(), unit: $every),
        )
        |> filter(fn: (r) => r._measurement =~ $measurements)

keep = (name, fn) =>
    points
        |> aggregateWindow(
            every: $every,
            fn: fn,
            timeSrc: "_start",
            createEmpty: false,
        )
        |> map(fn: (r) => ({r with _field: name + "_" + r._field}))
        |> to(bucket: $name)
        |> yield(name: name)

$calls
""")


def coarse_name(config: InfluxDBConfig) -> str:
    """Return the name of what is kept for long: ``mirrorwatch_5m``."""
    prefix = config.bucket or "mirrorwatch"
    return f"{prefix}_{format_duration(config.downsampling.every)}"


def quote(name: str) -> str:
    """Write a name in InfluxQL, or a text in Flux."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def continuous_query(config: InfluxDBConfig, policy: str) -> str:
    """Return what 1.x does by itself.

    Parameters
    ----------
    config
        What was configured.
    policy
        Retention policy that points are written to.

    Notes
    -----
    The functions name their fields themselves: ``max_latency_seconds``.
    """
    run, back = _times(config)
    return _QUERY.substitute(
        name=quote(coarse_name(config)),
        database=quote(config.database or ""),
        policy=quote(policy),
        run=run,
        back=back,
        every=format_duration(config.downsampling.every),
        measurements=_pattern(),
        functions=", ".join(f"{function}(*)" for function in FUNCTIONS),
    )


def flux_task(config: InfluxDBConfig) -> str:
    """Return what 2.x does by itself.

    Notes
    -----
    Names and times are those of 1.x: ``max_latency_seconds``, at the start
    of its stretch. Only whole stretches are summed up, else the first one
    would replace a whole one by a part of it.
    """
    run, back = _times(config)
    return _TASK.substitute(
        name=quote(coarse_name(config)),
        bucket=quote(config.bucket or ""),
        run=run,
        back=back,
        every=format_duration(config.downsampling.every),
        measurements=_pattern(),
        calls="\n".join(
            f'keep(name: "{function}", fn: {function})'
            for function in FUNCTIONS
        ),
    )


def _times(config: InfluxDBConfig) -> tuple[str, str]:
    """Return how often it runs, and how far it looks back."""
    run = max(RUN_EVERY, config.downsampling.every)
    return format_duration(run), format_duration(LOOK_BACK * run)


def _pattern() -> str:
    return f"/^({'|'.join(MEASUREMENTS)})$/"


NEW_RETENTION = timedelta(days=30)
"""How long points are kept where nothing was configured and nothing exists:
nobody looks at the ticks of last month one by one."""


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One thing to be done."""

    says: str
    """What it does, as in "make bucket 'a', kept for 30d"."""

    do: Callable[[], object]
    """Does it."""

    deletes: bool = False
    """Whether points would be lost by it."""


def change_retention(
    what: str,
    has: timedelta,
    wants: timedelta | None,
    do: Callable[[], object],
) -> list[SetupStep]:
    """Return what changes how long something existing is kept.

    Parameters
    ----------
    what
        What it is called.
    has
        How long it is kept; zero for ever.
    wants
        How long it should be; `None` if nobody has said.
    do
        Changes it.
    """
    if wants is None or wants == has:
        return []
    return [
        SetupStep(
            f"keep {what} for {format_duration(wants)}, "
            f"no longer {format_retention(has)}",
            do,
            is_shorter(has, wants),
        )
    ]


def is_shorter(has: timedelta, wants: timedelta | None) -> bool:
    """Return whether something is to be kept for less time than it is; zero
    is for ever.
    """
    return wants is not None and (not has or wants < has)


def shard_duration(kept: timedelta) -> timedelta:
    """Return how long shards are where points are kept for so long.

    Longer ones than the retention are refused, so a retention is shortened
    together with them. These are the servers' own defaults.
    """
    if kept < timedelta(days=2):
        return timedelta(hours=1)
    return timedelta(days=1 if kept <= timedelta(days=180) else 7)


def format_retention(retention: timedelta) -> str:
    """Say how long something is kept."""
    return f"for {format_duration(retention)}" if retention else "for ever"


FIRST_POLICY = "autogen"
"""How 1.x itself calls the policy of a new database."""

Rows = Sequence[Mapping[str, Any]]


class Ask(Protocol):
    """Runs a statement of InfluxQL."""

    def __call__(self, statement: str) -> Rows:
        """Return the rows of the answer, those of all its series.

        Raises
        ------
        SinkError
            Raised if it failed.
        """
        ...


def find_steps_v1(config: InfluxDBConfig, ask: Ask) -> list[SetupStep]:
    """Return what has to be done, in order."""
    name = config.database or ""
    database = quote(name)
    exists = any(row["name"] == name for row in ask("SHOW DATABASES"))
    policies = (
        {
            row["name"]: row
            for row in ask(f"SHOW RETENTION POLICIES ON {database}")
        }
        if exists
        else {}
    )
    raw = config.retention_policy or next(
        (name for name, row in policies.items() if row["default"]),
        FIRST_POLICY,
    )
    steps = []
    if not exists:
        steps.append(
            _step(
                ask,
                f"make database {name!r}",
                f"CREATE DATABASE {database}"
                f" WITH {_terms(config, config.retention)} NAME {quote(raw)}",
                config.retention,
            )
        )
    else:
        steps += _retain_v1(config, ask, raw, policies, config.retention)
    if config.downsampling.enabled:
        wants = config.downsampling.retention
        steps += _retain_v1(config, ask, coarse_name(config), policies, wants)
        steps += _downsample_v1(config, ask, raw, exists=exists)
    return steps


def _retain_v1(
    config: InfluxDBConfig,
    ask: Ask,
    policy: str,
    policies: Mapping[str, Mapping[str, Any]],
    wants: timedelta | None,
) -> list[SetupStep]:
    """Make a retention policy, or change how long it keeps points."""
    at = f"RETENTION POLICY {quote(policy)} ON {quote(config.database or '')}"
    what = f"retention policy {policy!r}"
    if policy not in policies:
        statement = f"CREATE {at} {_terms(config, wants)}"
        return [_step(ask, f"make {what}", statement, wants)]
    has = _duration(policies[policy]["duration"])
    shards = ""
    if wants is not None and is_shorter(has, wants):
        shards = f" SHARD DURATION {format_duration(shard_duration(wants))}"
    return change_retention(
        what,
        has,
        wants,
        lambda: ask(
            f"ALTER {at} DURATION {format_duration(wants or timedelta())}"
            f"{shards}"
        ),
    )


def _downsample_v1(
    config: InfluxDBConfig, ask: Ask, raw: str, *, exists: bool
) -> list[SetupStep]:
    """Make the continuous query, or put it right."""
    name, database = coarse_name(config), config.database or ""
    wanted = continuous_query(config, raw)
    drop = f"DROP CONTINUOUS QUERY {quote(name)} ON {quote(database)}"
    rows = ask("SHOW CONTINUOUS QUERIES") if exists else ()
    for row in rows:
        # The server lists those of all databases, with their own text.
        ours = row["name"] == name and (
            f" ON {_bare(quote(database))} " in _bare(row["query"])
        )
        if ours and _bare(row["query"]) == _bare(wanted):
            return []
        if ours:
            return [
                SetupStep(
                    f"change continuous query {name!r}",
                    lambda: (ask(drop), ask(wanted)),
                )
            ]
    return [SetupStep(f"make continuous query {name!r}", lambda: ask(wanted))]


def _step(
    ask: Ask, says: str, statement: str, retention: timedelta | None
) -> SetupStep:
    kept = format_retention(retention or NEW_RETENTION)
    return SetupStep(f"{says}, kept {kept}", lambda: ask(statement))


def _terms(config: InfluxDBConfig, retention: timedelta | None) -> str:
    duration = format_duration(retention or NEW_RETENTION)
    return f"DURATION {duration} REPLICATION {config.replication}"


def _duration(text: str) -> timedelta:
    """Return a duration as 1.x writes it: ``720h0m0s``."""
    hours, rest = text.split("h") if "h" in text else ("0", text)
    minutes, rest = rest.split("m") if "m" in rest else ("0", rest)
    return timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=float(rest.removesuffix("s") or 0),
    )


def _bare(statement: str) -> str:
    """Leave out quotes, and weeks: the server writes the former where it
    needs them only, and the latter for seven days.
    """
    return re.sub(
        r"\b(\d+)w\b",
        lambda weeks: f"{7 * int(weeks[1])}d",
        statement.replace('"', ""),
    )


def find_steps_v2(
    config: InfluxDBConfig, client: InfluxDbClient
) -> list[SetupStep]:
    """Return what has to be done, in order.

    Raises
    ------
    SinkError
        Raised if there is no such organization: who owns the data is not
        for this command to decide.
    """
    org = _organization(config, client)
    bucket = config.bucket or ""
    steps = _retain_v2(client, org, bucket, config.retention)
    if config.downsampling.enabled:
        coarse = coarse_name(config)
        steps += _retain_v2(client, org, coarse, config.downsampling.retention)
        steps += _downsample_v2(config, client, org)
    return steps


PAGE = 100
"""Most that 2.x lists at once."""


def _list(
    client: InfluxDbClient, what: str, **asked: Any
) -> list[dict[str, Any]]:
    """Return all there are; the server gives so many at once."""
    found: list[dict[str, Any]] = []
    while True:
        page = {"limit": PAGE, "offset": len(found)}
        more = client.ask("GET", f"/api/v2/{what}", params=asked | page)[what]
        found += more
        if len(more) < PAGE:
            return found


def _organization(config: InfluxDBConfig, client: InfluxDbClient) -> str:
    """Return its id."""
    for org in _list(client, "orgs"):
        if config.org in {org["name"], org["id"]}:
            return str(org["id"])
    raise SinkError(
        f"InfluxDB at {config.url} shows this token no organization "
        f"{config.org!r}: make it, or mend org or token of sinks.influxdb",
        sink="influxdb",
    )


def _retain_v2(
    client: InfluxDbClient, org: str, name: str, wants: timedelta | None
) -> list[SetupStep]:
    """Make a bucket, or change how long it keeps points."""
    listed = _list(client, "buckets", orgID=org)
    found = [bucket for bucket in listed if bucket["name"] == name]
    if not found:
        kept = wants or NEW_RETENTION
        asked = {"orgID": org, "name": name}
        return [
            SetupStep(
                f"make bucket {name!r}, kept {format_retention(kept)}",
                lambda: client.ask(
                    "POST", "/api/v2/buckets", json=asked | _rules(kept)
                ),
            )
        ]
    (bucket,) = found
    seconds = sum(rule["everySeconds"] for rule in bucket["retentionRules"])
    has = timedelta(seconds=seconds)
    shards = {}
    if wants is not None and is_shorter(has, wants):
        length = int(shard_duration(wants).total_seconds())
        shards = {"shardGroupDurationSeconds": length}
    return change_retention(
        f"bucket {name!r}",
        has,
        wants,
        lambda: client.ask(
            "PATCH",
            f"/api/v2/buckets/{bucket['id']}",
            json=_rules(wants or timedelta(), **shards),
        ),
    )


def _rules(kept: timedelta, **more: int) -> dict[str, Any]:
    seconds = int(kept.total_seconds())
    rule = {"type": "expire", "everySeconds": seconds, **more}
    return {"retentionRules": [rule]}


def _downsample_v2(
    config: InfluxDBConfig, client: InfluxDbClient, org: str
) -> list[SetupStep]:
    """Make the task, or put it right."""
    name, flux = coarse_name(config), flux_task(config)
    wanted = {"flux": flux, "status": "active"}
    asked = {"orgID": org, "name": name}
    found = client.ask("GET", "/api/v2/tasks", params=asked)["tasks"]
    if not found:
        return [
            SetupStep(
                f"make task {name!r}",
                lambda: client.ask(
                    "POST", "/api/v2/tasks", json={"orgID": org, **wanted}
                ),
            )
        ]
    task = found[0]
    if task["flux"].strip() == flux.strip() and task["status"] == "active":
        return []
    return [
        SetupStep(
            f"change task {name!r}",
            lambda: client.ask(
                "PATCH", f"/api/v2/tasks/{task['id']}", json=wanted
            ),
        )
    ]


@contextmanager
def open_setup(config: InfluxDBConfig) -> Iterator[list[SetupStep]]:
    """Ask the server what is missing; within the context it can be done.

    Yields
    ------
    list of Step
        What is not as configured, in the order in which to do it.

    Raises
    ------
    ConfigError
        Raised if the address or the secret cannot be used.
    SinkError
        Raised if the server does not answer, or refuses.

    Notes
    -----
    Nothing that exists is deleted. The rights it takes are an
    administrator's, which the agent itself should not have.
    """
    client = InfluxDbClient(to_access(config))
    try:
        if config.form == "1.x":
            steps = find_steps_v1(config, lambda text: _ask(client, text))
        else:
            steps = find_steps_v2(config, client)
        yield steps
    except (KeyError, TypeError, ValueError) as e:
        raise SinkError(
            f"What answers at {config.url} is not InfluxDB {config.form}",
            sink="influxdb",
        ) from e
    except SinkError as e:
        rights = re.search(r" answered 40[13] ", str(e))
        hint = "; setting up takes an administrator's rights" if rights else ""
        raise SinkError(f"{e}{hint}", sink=e.sink) from e
    finally:
        client.close()


def _ask(client: InfluxDbClient, statement: str) -> list[Mapping[str, Any]]:
    """Run a statement of InfluxQL; 1.x reports its errors with status 200."""
    answer = client.ask("POST", "/query", params={"q": statement})
    (result,) = answer["results"]
    if "error" in result:
        raise SinkError(
            f"InfluxDB refuses {statement!r}: {result['error']}",
            sink="influxdb",
        )
    return [
        dict(zip(series["columns"], values, strict=True))
        for series in result.get("series", ())
        for values in series.get("values", ())
    ]
