"""The check ``configs``: whether topics are configured alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ..parity.configs import MATTERS, ConfigDrift, ConfigsObservation
from ..parity.topics import names
from ..verdicts import Evidence, Health, Verdict
from ..words import agree, counted
from .finding import Finding, conclude, seconds

__all__ = ["ConfigsLimits", "judge_configs"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigsLimits:
    """Limits of the check. The configuration gives their reasons."""

    enabled: bool = True
    """Whether configurations are compared at all."""


def judge_configs(
    flow: str,
    seen: ConfigsObservation | None,
    limits: ConfigsLimits,
    now: datetime,
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
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="configs",
        now=now,
        evidence={} if seen is None else _evidence(seen),
    )


def _find(
    seen: ConfigsObservation | None, limits: ConfigsLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(Health.OFF, "limits.configs.enabled is off")
        return
    if seen is None:
        yield Finding(
            Health.UNKNOWN, "How topics are configured is not known yet"
        )
        return
    yield from (Finding(Health.UNKNOWN, text) for text in seen.problems)
    if not seen.fresh:
        yield Finding(
            Health.UNKNOWN,
            "How topics are configured was last read "
            f"{seconds(now - seen.at)} ago",
        )
        return
    due = seen.due
    for name in MATTERS:
        drifts = [d for d in due if d.name == name]
        if drifts:
            yield Finding(Health.WARNING, _say(drifts, seen))
    yield Finding(
        Health.OK,
        f"{counted(seen.compared, 'topic')} "
        + agree(seen.compared, "are configured alike where it matters")
        + _awaited_note(seen),
    )


def _say(drifts: list[ConfigDrift], seen: ConfigsObservation) -> str:
    first = min(drifts, key=lambda d: (not _is_dangerous(d), d.topic))
    more = len(drifts) - 1
    return (
        f"{first.name} of {first.topic} is {first.source} at "
        f"{seen.source_alias} and {first.target} at {seen.target_alias}"
        + (f", and differs on {counted(more, 'more topic')}" if more else "")
        + _danger(first)
        + _remedy(first, seen)
    )


def _is_dangerous(drift: ConfigDrift) -> bool:
    return drift.name == "max.message.bytes" and (
        int(drift.target) < int(drift.source)
    )


def _danger(drift: ConfigDrift) -> str:
    if _is_dangerous(drift):
        return ": a record that fits only at the source can stop the mirror"
    if drift.name.startswith("retention."):
        return ": records stay longer on one side"
    return ""


def _remedy(drift: ConfigDrift, seen: ConfigsObservation) -> str:
    if drift.by_default:
        return (
            ". That is by the brokers' defaults, which the mirror does not "
            "copy: set it on the topic, or alike on all brokers"
        )
    if seen.sync is None:
        return (
            ". The mirror does not copy configurations "
            "(sync.topic.configs.enabled): set it at the target by hand"
        )
    return (
        f". The mirror copies configurations every {seconds(seen.sync)} and "
        "has not copied this: does it run, and may it ALTER_CONFIGS?"
    )


def _awaited_note(seen: ConfigsObservation) -> str:
    awaited = len(seen.drifts) - len(seen.due)
    return (
        f"; {awaited} changes have still to be copied by the mirror"
        if awaited
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
