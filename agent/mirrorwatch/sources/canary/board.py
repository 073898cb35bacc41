"""What the canary's threads tell each other, and what the tick sees."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from ...domain.canary import Doubt, Gap, Survey
from ...domain.observations import (
    CanaryPartition,
    Loss,
    ProbeArrival,
    Problem,
)

__all__ = ["Board", "Seen"]

ARRIVALS_KEPT = 20_000
"""Arrivals kept for a tick that does not come: an hour of six partitions."""

GAPS_KEPT = 20
"""Gaps that wait to be looked into. One shows a circle as well as many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What the canary knew when it last wrote its books."""

    at: datetime
    partitions: tuple[CanaryPartition, ...]
    doubts: tuple[Doubt, ...]
    problems: tuple[Problem, ...]
    blind: bool


class Board:
    """Holds what passes between the canary, the surveyor and the tick."""

    def __init__(self, losses: Iterable[Loss] = ()) -> None:
        self._lock = Lock()
        self._seen: Seen | None = None
        self._surveys: list[Survey] = []
        self._survey: Survey | None = None
        self._gaps: deque[Gap] = deque(maxlen=GAPS_KEPT)
        self._arrivals: deque[ProbeArrival] = deque(maxlen=ARRIVALS_KEPT)
        self._losses = list(losses)
        self._send_trouble: Problem | None = None
        self._schema_problems: tuple[Problem, ...] = ()

    def tell(self, survey: Survey) -> None:
        """Hand a survey to the canary."""
        with self._lock:
            self._surveys.append(survey)
            self._survey = survey

    def take_surveys(self) -> list[Survey]:
        """Take the surveys that came since the last call."""
        with self._lock:
            taken, self._surveys = self._surveys, []
            return taken

    def note_gap(self, gap: Gap) -> None:
        """Ask for a look at source offsets that the canary did not write."""
        with self._lock:
            self._gaps.append(gap)

    def take_gaps(self) -> list[Gap]:
        """Take the gaps that came since the last call."""
        with self._lock:
            taken = list(self._gaps)
            self._gaps.clear()
            return taken

    def note_send(self, trouble: Problem | None) -> None:
        """Note why the last send failed, `None` if it did not."""
        with self._lock:
            self._send_trouble = trouble

    def note_schemas(self, problems: Iterable[Problem]) -> None:
        """Note what is wrong with the probe's schema, if anything."""
        with self._lock:
            self._schema_problems = tuple(problems)

    def publish(
        self,
        seen: Seen,
        arrivals: Iterable[ProbeArrival],
        losses: Iterable[Loss],
    ) -> None:
        """Let others see what has been written down."""
        with self._lock:
            self._seen = seen
            self._arrivals.extend(arrivals)
            self._losses.extend(losses)

    def seen(self) -> Seen | None:
        """Return what the canary knows, `None` if it has not begun."""
        with self._lock:
            return self._seen

    def survey(self) -> Survey | None:
        """Return the last survey."""
        with self._lock:
            return self._survey

    def send_trouble(self) -> Problem | None:
        """Return why the last send failed, `None` if it did not."""
        with self._lock:
            return self._send_trouble

    def schema_problems(self) -> tuple[Problem, ...]:
        """Return what is wrong with the probe's schema."""
        with self._lock:
            return self._schema_problems

    def take_arrivals(self) -> tuple[ProbeArrival, ...]:
        """Take the live arrivals since the last call."""
        with self._lock:
            taken = tuple(self._arrivals)
            self._arrivals.clear()
            return taken

    def recent_losses(self, since: datetime) -> tuple[Loss, ...]:
        """Return the losses proved since a time; forget the older ones."""
        with self._lock:
            self._losses = [x for x in self._losses if x.proved_at >= since]
            return tuple(self._losses)
