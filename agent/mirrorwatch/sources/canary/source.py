"""What the tick sees of the canary. Never waits for anything."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from ...domain.canary.model import (
    CanarySurvey,
    IndeterminateProbe,
    OffsetGap,
    ProbeMessage,
)
from ...domain.observations import (
    CanaryObservation,
    CanaryPartition,
    Loss,
    ProbeArrival,
    Problem,
)
from ...domain.report import Flow
from .encoding import Encoding, Json

__all__ = [
    "CanarySettings",
    "CanarySnapshot",
    "CanarySource",
    "CanaryState",
    "Headers",
    "no_headers",
]


ARRIVALS_KEPT = 20_000
"""Arrivals kept for a tick that does not come: an hour of six partitions."""

GAPS_KEPT = 20
"""Gaps that wait to be looked into. One shows a circle as well as many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CanarySnapshot:
    """What the canary knew when it last wrote its books."""

    at: datetime
    partitions: tuple[CanaryPartition, ...]
    doubts: tuple[IndeterminateProbe, ...]
    problems: tuple[Problem, ...]
    blind: bool


class CanaryState:
    """Holds what passes between the canary, the surveyor and the tick."""

    def __init__(self, losses: Iterable[Loss] = ()) -> None:
        self._lock = Lock()
        self._seen: CanarySnapshot | None = None
        self._surveys: list[CanarySurvey] = []
        self._survey: CanarySurvey | None = None
        self._gaps: deque[OffsetGap] = deque(maxlen=GAPS_KEPT)
        self._arrivals: deque[ProbeArrival] = deque(maxlen=ARRIVALS_KEPT)
        self._losses = list(losses)
        self._send_trouble: Problem | None = None
        self._schema_problems: tuple[Problem, ...] = ()

    def tell(self, survey: CanarySurvey) -> None:
        """Hand a survey to the canary."""
        with self._lock:
            self._surveys.append(survey)
            self._survey = survey

    def take_surveys(self) -> list[CanarySurvey]:
        """Take the surveys that came since the last call."""
        with self._lock:
            taken, self._surveys = self._surveys, []
            return taken

    def note_gap(self, gap: OffsetGap) -> None:
        """Ask for a look at source offsets that the canary did not write."""
        with self._lock:
            self._gaps.append(gap)

    def take_gaps(self) -> list[OffsetGap]:
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
        seen: CanarySnapshot,
        arrivals: Iterable[ProbeArrival],
        losses: Iterable[Loss],
    ) -> None:
        """Let others see what has been written down."""
        with self._lock:
            self._seen = seen
            self._arrivals.extend(arrivals)
            self._losses.extend(losses)

    def seen(self) -> CanarySnapshot | None:
        """Return what the canary knows, `None` if it has not begun."""
        with self._lock:
            return self._seen

    def survey(self) -> CanarySurvey | None:
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


Headers = Callable[[ProbeMessage], list[tuple[str, str | bytes | None]]]
"""Gives the headers of a probe."""


def no_headers(_message: ProbeMessage) -> list[tuple[str, str | bytes | None]]:
    """Return no headers: a probe in service has none."""
    return []


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """What the canary of one flow is told."""

    flow: Flow
    """The flow that is watched."""

    topic: str
    """Canary topic at the source."""

    remote_topic: str
    """Its name at the target."""

    interval: timedelta = timedelta(seconds=1)
    """How often every partition gets a probe."""

    deadline: timedelta = timedelta(seconds=30)
    """Longest time to the arrival that is not late."""

    warmup: timedelta = timedelta(minutes=10, seconds=30)
    """How long a new partition may go without arrivals."""

    create: bool = True
    """Whether the topic may be created, at the source."""

    partitions: int | None = None
    """Partitions to cover; `None` for all."""

    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where they are configured."""

    sized_bytes: int | None = None
    """Size of the large probes' value; `None` for none."""

    sized_interval: timedelta = timedelta(hours=1)
    """How often a large one is sent."""

    sized_partition: int = 0
    """The partition that gets them."""

    max_request_bytes: int | None = None
    """The mirror producer's ``max.request.size``, where it is known."""

    encoding: Encoding = field(default_factory=Json)
    """How probes are written."""

    headers: Headers = no_headers
    """Headers of a probe: how a test marks those that it wants dropped."""


class CanarySource:
    """Reports the state of one flow's canary.

    Parameters
    ----------
    settings
        What the canary was told.
    board
        What the canary and the surveyor left there.
    lost_window
        How long losses are reported by name.
    """

    def __init__(
        self,
        *,
        settings: CanarySettings,
        board: CanaryState,
        lost_window: timedelta,
    ) -> None:
        self.name = f"canary {settings.flow.name}"
        self._settings = settings
        self._board = board
        self._lost_window = lost_window

    def observe(self, now: datetime) -> Sequence[CanaryObservation]:
        seen, survey = self._board.seen(), self._board.survey()
        if seen is None:
            return []
        problems = [
            *self._board.schema_problems(),
            *seen.problems,
            *(survey.problems if survey else ()),
        ]
        if survey is None:
            problems.append(Problem.unknown("Clusters have not been read yet"))
        trouble = self._board.send_trouble()
        if trouble is not None:
            problems.append(trouble)
        return [
            CanaryObservation(
                flow=self._settings.flow.name,
                at=seen.at,
                topic=self._settings.topic,
                remote_topic=self._settings.remote_topic,
                partitions=seen.partitions,
                arrivals=self._board.take_arrivals(),
                losses=self._board.recent_losses(now - self._lost_window),
                problems=tuple(dict.fromkeys(problems)),
                blind=seen.blind,
            )
        ]
