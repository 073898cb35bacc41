"""What is said of each check, and how long it must be so."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from ..domain.checks import CHECKS
from ..domain.verdicts import Health
from .alert import Alert, Judged, Severity

__all__ = ["TEXTS", "Texts", "check_alerts"]

CRITICAL_HOLD = timedelta(minutes=2)
"""Eight scrapes of 15 s, two of a minute: the agent has waited already, for
its deadlines, before it says critical."""

WARNING_HOLD = timedelta(minutes=15)
"""Longer than the agent remembers one late or doubled probe (10 minutes), so
that only what goes on, or comes again, makes a ticket."""

UNKNOWN_HOLD = timedelta(minutes=15)
"""A restart of the agent, of a broker or of the mirror is over by then."""

LATENCY_HOLD = timedelta(minutes=10)
"""Twice the time that `latency` speaks of: a pause of seconds, a rebalance
for instance, is in its figures for five minutes and needs nobody at night."""

AUDIT_UNKNOWN_HOLD = timedelta(hours=26)
"""A new site waits up to a day for its first night, and the night takes an
hour or two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """What the alerts of one check say."""

    critical: str | None = None
    """`None` if the check is never critical."""

    warning: str
    unknown: str
    """Goes after "mirrorwatch cannot tell"."""

    blind: Severity = Severity.TICKET
    """Whom it wakes that nothing is known for long."""

    critical_hold: timedelta = CRITICAL_HOLD
    unknown_hold: timedelta = UNKNOWN_HOLD


TEXTS = {
    "canary": Texts(
        critical="probes do not arrive at the target, or were proved lost",
        warning="probes arrive late or twice, cannot be written, or leave a "
        "broker out",
        unknown="whether anything arrives at the target",
        # Nothing else watches the flow as a whole.
        blind=Severity.PAGE,
    ),
    "latency": Texts(
        critical="records take many times as long as usual to arrive",
        warning="records take longer than usual to arrive",
        unknown="how long records take to arrive",
        critical_hold=LATENCY_HOLD,
    ),
    "lag": Texts(
        critical="the mirror stands still while records wait",
        warning="the mirror falls behind: it copies less than is written",
        unknown="how far the mirror is behind",
        # Records may be running out of time.
        blind=Severity.PAGE,
    ),
    "skips": Texts(
        critical="the mirror skipped records: they are missing at the target "
        "and will not come by themselves",
        warning="the mirror may have skipped records, or copied some twice",
        unknown="whether the mirror skips records",
    ),
    "retention": Texts(
        critical="records will soon expire at the source before they are "
        "copied, and are lost for good then",
        warning="records that wait to be copied come near their expiry",
        unknown="how long until waiting records expire",
    ),
    "position": Texts(
        critical="the mirror lost its place: records expired unread, a topic "
        "was made again, or committed offsets are gone",
        warning="the mirror went back and copies records a second time",
        unknown="whether the mirror kept its place",
    ),
    "topics": Texts(
        critical="topics are missing at the target, or come round in a circle",
        warning="topics or their partitions differ between the two sites",
        unknown="whether both sites have the same topics",
    ),
    "configs": Texts(
        warning="topics are configured differently at the two sites",
        unknown="whether topics are configured alike",
    ),
    "tasks": Texts(
        critical="a connector or task of the mirror failed, or none runs",
        warning="the mirror's tasks are restless, or leave partitions out",
        unknown="whether the mirror's tasks run",
    ),
    "heartbeats": Texts(
        warning="the mirror's own heartbeats stay away",
        unknown="whether the mirror's heartbeats arrive",
    ),
    "checkpoints": Texts(
        warning="checkpoints of consumer groups are old: after a failover "
        "groups would read much again",
        unknown="where consumer groups would begin after a failover",
    ),
    "bottleneck": Texts(
        critical="the mirror gave up records because of errors",
        warning="something holds the mirror up: a quota, full batches, "
        "retries or the link",
        unknown="what holds the mirror up",
    ),
    "audit": Texts(
        critical="the nightly audit proved records missing, altered, doubled "
        "or foreign at the target",
        warning="the nightly audit was missed, is late, failed, or could not "
        "verify everything",
        unknown="whether the records of the last days all arrived",
        unknown_hold=AUDIT_UNKNOWN_HOLD,
    ),
}
"""By check. What is not here has no alert, which a test does not allow."""


def check_alerts() -> Iterator[Alert]:
    """Yield the alerts of every check, the most severe first."""
    for check in CHECKS:
        texts = TEXTS[check]
        name = f"Mirrorwatch{check.capitalize()}"
        if texts.critical is not None:
            yield Alert(
                name=f"{name}Critical",
                when=Judged(check=check, health=Health.CRITICAL),
                hold=texts.critical_hold,
                severity=Severity.PAGE,
                summary=texts.critical,
                section=check,
            )
        yield Alert(
            name=f"{name}Warning",
            when=Judged(check=check, health=Health.WARNING, or_worse=True),
            hold=WARNING_HOLD,
            severity=Severity.TICKET,
            summary=texts.warning,
            section=check,
        )
        yield Alert(
            name=f"{name}Unknown",
            when=Judged(check=check, health=Health.UNKNOWN),
            hold=texts.unknown_hold,
            severity=texts.blind,
            summary=f"mirrorwatch cannot tell {texts.unknown}",
            section=check,
        )
