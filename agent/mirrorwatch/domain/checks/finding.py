"""What a check finds on its way to a verdict."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..verdicts import Evidence, Health, Verdict

__all__ = ["Finding", "conclude", "seconds"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is so."""

    health: Health
    """How bad it is."""

    reason: str
    """One sentence that a person on call can act on."""


def conclude(
    findings: Iterable[Finding],
    *,
    flow: str,
    check: str,
    now: datetime,
    evidence: Evidence,
) -> Verdict:
    """Make a verdict of the worst finding; the first of equals gives the
    reason, and says how many more there are.
    """
    found = sorted(findings, key=lambda f: -f.health)
    worst = found[0]
    others = sum(f.health > Health.OK for f in found[1:])
    more = f" (and {others} more, see the evidence)" if others else ""
    also = {
        f"also_{n}": f.reason
        for n, f in enumerate(found[1:], start=1)
        if f.health > Health.OK
    }
    return Verdict(
        flow=flow,
        check=check,
        health=worst.health,
        reason=worst.reason + more,
        since=now,
        evidence={**evidence, **also},
    )


def seconds(duration: timedelta) -> str:
    """Return a duration as a person says it, for example ``42 s``."""
    total = duration.total_seconds()
    if total < 120:
        return f"{total:.0f} s"
    if total < 7200:
        return f"{total / 60:.0f} min"
    if total < 172_800:
        return f"{total / 3600:.1f}".removesuffix(".0") + " h"
    return f"{total / 86_400:.1f}".removesuffix(".0") + " d"
