"""What is missing in InfluxDB 1.x: database, retention policies, query."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from ..config import InfluxDBConfig
from ..config.durations import format_duration
from .downsampling import coarse_name, continuous_query, quote
from .step import NEW_RETENTION, Step, change_retention, tell_retention

__all__ = ["Ask", "find_steps_v1"]

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


def find_steps_v1(config: InfluxDBConfig, ask: Ask) -> list[Step]:
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
        steps += _keep(config, ask, raw, policies, config.retention)
    if config.downsampling.enabled:
        wants = config.downsampling.retention
        steps += _keep(config, ask, coarse_name(config), policies, wants)
        steps += _sum_up(config, ask, raw, exists=exists)
    return steps


def _keep(
    config: InfluxDBConfig,
    ask: Ask,
    policy: str,
    policies: Mapping[str, Mapping[str, Any]],
    wants: timedelta | None,
) -> list[Step]:
    """Make a retention policy, or change how long it keeps points."""
    at = f"RETENTION POLICY {quote(policy)} ON {quote(config.database or '')}"
    what = f"retention policy {policy!r}"
    if policy not in policies:
        statement = f"CREATE {at} {_terms(config, wants)}"
        return [_step(ask, f"make {what}", statement, wants)]
    return change_retention(
        what,
        _duration(policies[policy]["duration"]),
        wants,
        lambda: ask(
            f"ALTER {at} DURATION {format_duration(wants or timedelta())}"
        ),
    )


def _sum_up(
    config: InfluxDBConfig, ask: Ask, raw: str, *, exists: bool
) -> list[Step]:
    """Make the continuous query, or put it right."""
    name, database = coarse_name(config), config.database or ""
    wanted = continuous_query(config, raw)
    drop = f"DROP CONTINUOUS QUERY {quote(name)} ON {quote(database)}"
    rows = ask("SHOW CONTINUOUS QUERIES") if exists else ()
    for row in rows:
        # The server tells all databases' in one list, with their own text.
        ours = row["name"] == name and (
            f" ON {_bare(quote(database))} " in _bare(row["query"])
        )
        if ours and _bare(row["query"]) == _bare(wanted):
            return []
        if ours:
            return [
                Step(
                    f"change continuous query {name!r}",
                    lambda: (ask(drop), ask(wanted)),
                )
            ]
    return [Step(f"make continuous query {name!r}", lambda: ask(wanted))]


def _step(
    ask: Ask, says: str, statement: str, retention: timedelta | None
) -> Step:
    kept = tell_retention(retention or NEW_RETENTION)
    return Step(f"{says}, kept {kept}", lambda: ask(statement))


def _terms(config: InfluxDBConfig, retention: timedelta | None) -> str:
    duration = format_duration(retention or NEW_RETENTION)
    return f"DURATION {duration} REPLICATION {config.replication}"


def _duration(text: str) -> timedelta:
    """Return a duration as 1.x tells it: ``720h0m0s``."""
    hours, rest = text.split("h") if "h" in text else ("0", text)
    minutes, rest = rest.split("m") if "m" in rest else ("0", rest)
    return timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=float(rest.removesuffix("s") or 0),
    )


def _bare(statement: str) -> str:
    """Leave out quotes: the server writes them where it needs them only."""
    return statement.replace('"', "")
