"""Whether topics are configured alike on both sides."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import TopicConfigs
from ..lag.model import LagObservation
from ..report import (
    Evidence,
    Finding,
    Health,
    Verdict,
    agree,
    conclude,
    counted,
    seconds,
)
from .topics import names

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
    """One property of one topic that is not the same on both sides."""

    topic: str
    name: str
    source: str
    target: str
    by_default: bool
    since: datetime | None = None
    """When it was first seen to be so; `None` if that is of no concern."""

    @property
    def condition(self) -> str:
        """What is so; another value is another drift."""
        return f"{self.topic} {self.name} {self.source} {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigsObservation:
    """How the configurations of both sides compare."""

    flow: str
    at: datetime
    source_alias: str
    target_alias: str
    compared: int = 0
    drifts: tuple[ConfigDrift, ...] = ()
    told: tuple[ConfigDrift, ...] = ()
    sync: timedelta | None = None
    """How often the mirror copies configurations; `None` if it does not."""

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
    """Whether topic configs are read and compared. Requires DESCRIBE_CONFIGS
    on all replicated topics at both clusters. Without them the check
    `retention` is off, too."""

    every: timedelta = field(
        default=timedelta(minutes=5),
        metadata={"title": "Interval", "ge": timedelta(seconds=1)},
    )
    """How often topic configs are read. A request for 100 topics takes about
    20 ms, so a large site takes less than a second. MirrorMaker itself reads
    them every ten minutes."""

    slack: timedelta = field(
        default=timedelta(minutes=1),
        metadata={"title": "Slack", "gt": timedelta()},
    )
    """Time beyond MirrorMaker's sync interval after which a difference is
    reported. MirrorMaker needs a while for thousands of topics."""

    has_sync: bool = True
    """Whether the mirror's connectors say how often it syncs topic configs:
    those of MirrorMaker 2 alone do."""


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
        How the configurations of both sides compare.
    limits
        Limits of the check.
    now
        The time.
    lag
        What is known of its lag: which topics are hidden.
    """
    return conclude(
        _find(seen, limits, now, None if lag is None else lag.hidden),
        flow=flow,
        check="configs",
        now=now,
        evidence={} if seen is None else _evidence(seen),
    )


def _find(
    seen: ConfigsObservation | None,
    limits: ConfigsLimits,
    now: datetime,
    hidden: str | None,
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(
            "configs.off",
            Health.OFF,
            "Config comparison is disabled (limits.configs.enabled is false)",
        )
        return
    if seen is None:
        yield Finding(
            "configs.no-data",
            Health.UNKNOWN,
            "Topic configs have not been read yet",
        )
        return
    for text in seen.problems:
        yield Finding("configs.unreadable", Health.UNKNOWN, text)
    if not seen.fresh:
        yield Finding(
            "configs.stale",
            Health.UNKNOWN,
            f"Topic configs were last read {seconds(now - seen.at)} ago",
            numbers={"seconds": (now - seen.at).total_seconds()},
        )
        return
    due = seen.due
    for name in MATTERS:
        drifts = [d for d in due if d.name == name]
        if drifts:
            yield _find_drift(drifts, seen, limits)
    if hidden is not None:
        yield Finding("configs.hidden-topics", Health.UNKNOWN, hidden)
    yield Finding(
        "configs.ok",
        Health.OK,
        f"{counted(seen.compared, 'topic')} "
        + agree(seen.compared, "have matching configs")
        + _pending_note(seen),
        numbers={
            "topics": seen.compared,
            "pending_changes": len(seen.drifts) - len(due),
        },
    )


def _find_drift(
    drifts: list[ConfigDrift], seen: ConfigsObservation, limits: ConfigsLimits
) -> Finding:
    first = min(drifts, key=lambda d: (not _is_dangerous(d), d.topic))
    more = len(drifts) - 1
    return Finding(
        "configs.differ",
        Health.WARNING,
        f"{first.name} of {first.topic} is {first.source} at "
        f"{seen.source_alias} but {first.target} at {seen.target_alias}"
        + (f", and differs on {counted(more, 'more topic')}" if more else "")
        + _danger(first)
        + _remedy(first, seen, limits),
        subject={"topic": first.topic, "property": first.name},
        numbers={"topics": len(drifts)},
    )


def _is_dangerous(drift: ConfigDrift) -> bool:
    return drift.name == "max.message.bytes" and (
        int(drift.target) < int(drift.source)
    )


def _danger(drift: ConfigDrift) -> str:
    if _is_dangerous(drift):
        return ". A record too large for the target can stop MirrorMaker"
    if drift.name.startswith("retention."):
        return ". Records are retained longer on one cluster"
    return ""


def _remedy(
    drift: ConfigDrift, seen: ConfigsObservation, limits: ConfigsLimits
) -> str:
    if drift.by_default:
        return (
            ". The values are broker defaults, which MirrorMaker does not "
            "sync. Set it on the topic, or equally on all brokers"
        )
    if not limits.has_sync:
        return (
            ". Whether MirrorMaker syncs topic configs is not known. If it "
            "does not, set it at the target manually"
        )
    if seen.sync is None:
        return (
            ". MirrorMaker does not sync topic configs "
            "(sync.topic.configs.enabled). Set it at the target manually"
        )
    return (
        f". MirrorMaker syncs topic configs every {seconds(seen.sync)} but "
        "has not synced this one. Check that it runs and may ALTER_CONFIGS"
    )


def _pending_note(seen: ConfigsObservation) -> str:
    pending = len(seen.drifts) - len(seen.due)
    return (
        f"; {counted(pending, 'change')} not yet synced by MirrorMaker"
        if pending
        else ""
    )


def _evidence(seen: ConfigsObservation) -> Evidence:
    told = {
        f"differs_{name.replace('.', '_')}": names(
            d.topic for d in seen.told if d.name == name
        )
        for name in sorted({d.name for d in seen.told})
    }
    return {
        "compared_topics": seen.compared,
        "config_drifts": len(seen.due),
        "awaited_changes": len(seen.drifts) - len(seen.due),
        "read_at": seen.at.isoformat(),
        "config_sync_seconds": None
        if seen.sync is None
        else seen.sync.total_seconds(),
        **told,
    }
