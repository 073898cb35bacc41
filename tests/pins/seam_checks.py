"""Observations judged tick by tick, as recorded: a seam of the pins."""

from datetime import datetime
from typing import Any

from mirrorwatch.domain.checks import CHECKS, FlowLimits, judge
from mirrorwatch.domain.report import Verdict, keep_since

from .seam_values import CODEC, Json, to_observation

__all__ = ["Judge"]

NEWER = {"failover", "readers", "schemas"}
"""Checks that there were not when the run was recorded."""


class Judge:
    """What a tick concludes of what was seen."""

    def __init__(self) -> None:
        self._seen: Json = {}
        self._limits: dict[str, FlowLimits] = {}
        self._before: tuple[Verdict, ...] = ()

    def take(self, event: Json) -> Any:
        """Return the verdicts of a tick."""
        # What was seen in the tick before is not written again.
        self._seen |= event["seen"]
        if "limits" in event:
            self._limits = {
                flow: {
                    check.name: CODEC.decode(check.limits, limits[check.name])
                    for check in CHECKS.values()
                    if check.limits is not None and check.name not in NEWER
                }
                for flow, limits in event["limits"].items()
            }
        seen = [
            to_observation({"kind": kind, "seen": self._seen[kind]})
            for kind in event["kinds"]
        ]
        verdicts = judge(
            self._limits, seen, datetime.fromisoformat(event["at"])
        )
        self._before = keep_since(verdicts, self._before)
        return [
            CODEC.encode(verdict)
            for verdict in self._before
            if verdict.check not in NEWER
        ]
