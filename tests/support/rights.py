"""Rights of the agent in a secured lab, granted and waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.acls import Right, internal_rights, minimal_rights
from mirrorwatch_lab.lab import Lab
from mirrorwatch_lab.settings import CANARY_TOPIC
from mirrorwatch_lab.site import LabSite
from mirrorwatch_lab.waiting import wait_until
from tests.support.deeds import failure
from tests.support.watch import PATIENT

__all__ = ["CONFIGS", "DENIED", "READ_SOURCE", "READ_TARGET", "RIGHTS"]
__all__ += ["WRITE", "expect", "failed", "holding", "on", "site", "until"]

RIGHTS = minimal_rights(
    canary=CANARY_TOPIC,
    remote_canary=CANARY_TOPIC,
    internal=internal_rights(
        syncs="mm2-offset-syncs.ldf.internal",
        offsets="mm2-offsets.summit.internal",
        configs="mm2-configs.summit.internal",
        status="mm2-status.summit.internal",
        checkpoints="summit.checkpoints.internal",
        carried_heartbeats="summit.heartbeats",
    ),
    sized=True,
)


def _of(side: str, operation: str, topic: str = CANARY_TOPIC) -> Right:
    (right,) = (
        r
        for r in RIGHTS
        if (r.side, r.operation, r.topic) == (side, operation, topic)
    )
    return right


WRITE = _of("source", "WRITE")
READ_SOURCE = _of("source", "READ")
READ_TARGET = _of("target", "READ")
CONFIGS = _of("target", "READ", "mm2-configs.summit.internal")

DENIED = "TOPIC_AUTHORIZATION_FAILED"


def on(topic: str, *rights: Right) -> list[Right]:
    """Return the same rights on another topic."""
    return [replace(right, topic=topic) for right in rights]


def site(lab: Lab, right: Right) -> LabSite:
    return lab.source if right.side == "source" else lab.target


@contextmanager
def holding(lab: Lab, *rights: Right) -> Iterator[None]:
    for right in rights:
        site(lab, right).grants.grant([right])
    try:
        for right in rights:
            expect(lab, right, None)
        yield
    finally:
        for right in rights:
            site(lab, right).grants.revoke([right])
        for right in rights:
            # Known to be gone, so that the next test starts with none.
            expect(lab, right, DENIED)


def expect(lab: Lab, right: Right, error: str | None) -> None:
    until(lambda: failed(lab, right) == error, f"{right} gives {error}")


def failed(lab: Lab, right: Right) -> str | None:
    client = site(lab, right).client_properties()
    return failure(right.operation, client, right.topic)


def until(ready: Callable[[], bool], what: str) -> None:
    # A broker learns of new rights a moment after they were granted.
    wait_until(ready, limit=timedelta(seconds=PATIENT), what=what)
