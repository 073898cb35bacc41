"""Parity of topic configurations on both sides."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import TopicConfigs
from ..finding import Finding, Health
from ..lag.model import LagObservation
from ..report import Verdict, conclude
from . import configs_texts as texts

__all__ = [
    "MATTERS",
    "ConfigDrift",
    "ConfigsLimits",
    "ConfigsObservation",
    "compare_configs",
    "judge_configs",
]


MATTERS = (
    "max.message.bytes",
    "retention.ms",
    "retention.bytes",
    "cleanup.policy",
)
"""Properties that decide which records arrive, and how long they stay. The
first comes first, as it can stop the mirror."""

REPORTED = (
    "message.timestamp.type",
    "min.insync.replicas",
    "compression.type",
)
"""Properties that are a site's own affair: MirrorMaker 2 leaves the first two
alone by default, and the last changes no record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigDrift:
    """Drift of one property of one topic between both sides."""

    topic: str
    name: str
    source: str
    target: str
    by_default: bool
    since: datetime | None = None
    """Time at which the drift was first seen; `None` if that is of no
    concern."""

    @property
    def condition(self) -> str:
        """Condition that the drift is; another value is another drift."""
        return f"{self.topic} {self.name} {self.source} {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigsObservation:
    """Comparison of the configurations of both sides."""

    flow: str
    at: datetime
    compared: int = 0
    drifts: tuple[ConfigDrift, ...] = ()
    told: tuple[ConfigDrift, ...] = ()
    sync: timedelta | None = None
    """Interval at which the mirror copies configurations; `None` if it does
    not."""

    patience: timedelta = timedelta()
    fresh: bool = True
    problems: tuple[str, ...] = ()

    @property
    def due(self) -> tuple[ConfigDrift, ...]:
        """Drifts that the mirror should have fixed by now."""
        return tuple(
            d
            for d in self.drifts
            if d.since is not None and self.at - d.since >= self.patience
        )


def compare_configs(
    topics: Iterable[tuple[str, str]],
    source: Mapping[str, TopicConfigs],
    target: Mapping[str, TopicConfigs],
) -> Iterator[ConfigDrift]:
    """Find what differs on topics whose configuration is known.

    Parameters
    ----------
    topics
        Names at the source and at the target.
    source, target
        Configurations by the names there.
    """
    for topic, remote in topics:
        here, there = source.get(topic), target.get(remote)
        # Most topics of a site are configured alike, and share one object.
        if here is None or there is None or here == there:
            continue
        for name in (*MATTERS, *REPORTED):
            ours, theirs = here.get(name), there.get(name)
            if ours is None or theirs is None or ours == theirs:
                continue
            if name.startswith("retention.") and not (
                here.deletes and there.deletes
            ):
                continue  # said by cleanup.policy, or of no effect at all
            yield ConfigDrift(
                topic=topic,
                name=name,
                source=ours,
                target=theirs,
                by_default=name not in here.own | there.own,
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigsLimits:
    """Limits of the check `configs`."""

    enabled: bool = field(default=True, metadata={"title": "Enabled"})
    """Read and compare topic configs. Requires DESCRIBE_CONFIGS on all
    replicated topics at both clusters. If disabled, the check `retention` is
    off, too."""

    every: timedelta = field(
        default=timedelta(minutes=5),
        metadata={"title": "Interval", "ge": timedelta(seconds=1)},
    )
    """Read interval of topic configs. A request for 100 topics takes about 20
    ms, so a large site takes less than a second. MirrorMaker itself reads them
    every ten minutes."""

    slack: timedelta = field(
        default=timedelta(minutes=1),
        metadata={"title": "Slack", "gt": timedelta()},
    )
    """Time beyond MirrorMaker's sync interval after which a difference is
    reported. MirrorMaker needs a while for thousands of topics."""

    has_sync: bool = True
    """Connectors of the mirror state the interval of its topic config syncs:
    only those of MirrorMaker 2 do."""


def judge_configs(
    flow: str,
    seen: ConfigsObservation | None,
    limits: ConfigsLimits,
    now: datetime,
    lag: LagObservation | None = None,
) -> Verdict:
    """Judge the configurations that decide what arrives and how long it stays.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Comparison of the configurations of both sides.
    limits
        Limits of the check.
    now
        The time.
    lag
        Lag observation; it tells which topics are hidden.
    """
    return conclude(
        _find(seen, limits, now, None if lag is None else lag.hidden),
        flow=flow,
        check="configs",
        now=now,
        evidence={},
    )


def _find(
    seen: ConfigsObservation | None,
    limits: ConfigsLimits,
    now: datetime,
    hidden: str | None,
) -> Iterator[Finding]:
    if not limits.enabled:
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    if not seen.fresh:
        age = now - seen.at
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
        return
    due = seen.due
    for name in MATTERS:
        drifts = [d for d in due if d.name == name]
        if drifts:
            yield _find_drift(drifts, seen, limits)
    if hidden is not None:
        yield texts.HIDDEN_TOPICS.found(Health.UNKNOWN, problem=hidden)
    yield texts.OK.found(
        Health.OK,
        topics=seen.compared,
        pending_changes=len(seen.drifts) - len(due),
    )


def _find_drift(
    drifts: list[ConfigDrift], seen: ConfigsObservation, limits: ConfigsLimits
) -> Finding:
    first = min(drifts, key=lambda d: (not _is_dangerous(d), d.topic))
    setting = None
    if first.by_default:
        setting = "broker defaults"
    elif limits.has_sync and seen.sync is None:
        setting = "sync.topic.configs.enabled=false"
    return texts.DIFFER.found(
        Health.WARNING,
        {"topic": first.topic, "property": first.name},
        source_value=first.source,
        target_value=first.target,
        topics=len(drifts),
        more_topics=len(drifts) - 1 or None,
        setting=setting,
    )


def _is_dangerous(drift: ConfigDrift) -> bool:
    return drift.name == "max.message.bytes" and (
        int(drift.target) < int(drift.source)
    )
