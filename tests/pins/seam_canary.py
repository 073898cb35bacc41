"""The canary's books, fed with recorded events: a seam of the pins."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from mirrorwatch.domain.canary.model import (
    CanarySurvey,
    MirrorPosition,
    SettledProbe,
    TopicState,
)
from mirrorwatch.domain.canary.tracker import (
    Arrival,
    CanaryTracker,
    Identity,
    Ledger,
    arrive,
)
from mirrorwatch.domain.report import Flow

from .seam_values import CODEC, Json

__all__ = ["ORIGINS", "CanaryReplay", "from_ledgers", "from_survey"]

ORIGINS = {
    "committed": "The mirror's committed position",
    "sync": "The mirror's offset sync",
}
"""What a position was taken from, and how it is told."""


class CanaryReplay:
    """The books of one flow, as new."""

    def __init__(self, setting: Json) -> None:
        self._deadline = _span(setting["deadline"])
        self._books = CanaryTracker(
            flow=Flow(
                name=setting["flow"],
                source=setting["source"],
                target=setting["target"],
            ),
            identity=Identity(),
            warmup=_span(setting["warmup"]),
        )
        self._kinds: dict[str, Callable[[Json], Any]] = {
            "canary survey": self._follow,
            "canary send": self._send,
            "canary sent": self._hear,
            "canary arrival": self._arrive,
            "canary end": self._reach_end,
            "canary skip": self._skip,
            "canary settle": self._settle,
            "canary state": lambda _: from_ledgers(self._ledgers.values()),
        }

    def take(self, event: Json) -> Any:
        """Take an event; return what is made of it."""
        return self._kinds[event["kind"]](event)

    @property
    def _ledgers(self) -> dict[int, Ledger]:
        return self._books.ledgers

    def _follow(self, event: Json) -> Any:
        survey = _to_survey(event["survey"])
        mistaken = self._books.mistaken(survey)
        if mistaken is not None:
            return {"mistaken": CODEC.encode(mistaken)}
        self._books.warmup = _span(event["warmup"])
        return {"unread": sorted(self._books.follow(survey))}

    def _send(self, event: Json) -> Any:
        ledger, now = self._ledgers[event["partition"]], _at(event["at"])
        warming = self._books.is_warming(ledger, now)
        probe = ledger.send(now, warming=warming)
        return {"sequence": probe.sequence, "warming": warming}

    def _hear(self, event: Json) -> Any:
        ledger = self._ledgers[event["partition"]]
        sequence = event["sequence"]
        if event["became"] == "acked":
            acked_at = _at(event["at"])
            gap = ledger.ack(sequence, event["source_offset"], acked_at)
            return None if gap is None else CODEC.encode(gap)
        if event["became"] == "failed":
            ledger.fail(sequence, _at(event["at"]))
        else:
            ledger.doubt(sequence)
        return None

    def _arrive(self, event: Json) -> Any:
        ledger = self._ledgers[event["partition"]]
        if event["sequence"] is None:
            ledger.read_to(event["target_offset"] + 1)
            return None
        seen = Arrival(
            sequence=event["sequence"],
            target_offset=event["target_offset"],
            seen_at=_at(event["at"]),
            absent_until=_at(event["absent_until"]),
        )
        arrival = arrive(ledger, seen, self._deadline)
        return None if arrival is None else CODEC.encode(arrival)

    def _reach_end(self, event: Json) -> None:
        ledger = self._ledgers[event["partition"]]
        ledger.read_to(event["target_offset"])

    def _skip(self, event: Json) -> None:
        self._ledgers[event["partition"]].skip_target(event["target_offset"])

    def _settle(self, event: Json) -> Any:
        grace = None if event["grace"] is None else _span(event["grace"])
        losses = self._books.settle(_at(event["at"]), grace)
        return [CODEC.encode(loss) for loss in losses]


def from_ledgers(ledgers: Iterable[Ledger]) -> list[Any]:
    """Write what is known of the probes of each partition."""
    written = []
    for ledger in sorted(ledgers, key=lambda each: each.partition):
        state = CODEC.encode(ledger.snapshot(warming=False))
        state["waiting"] = sorted(ledger.outstanding)
        state["next"] = [ledger.next_sequence, ledger.next_offset]
        for kind in ("arrived", "lost", "failed", "unverifiable"):
            state[kind] = CODEC.encode(getattr(ledger, kind))
        written.append(state)
    return written


def from_survey(survey: CanarySurvey) -> Json:
    """Write what was found out about the surroundings of the canary."""
    origins = {text: name for name, text in ORIGINS.items()}
    return {
        "at": survey.at.isoformat(),
        "positions": [
            [
                partition,
                origins[p.origin],
                p.position,
                p.seen_at.isoformat(),
                p.counts_at.isoformat(),
            ]
            for partition, positions in survey.positions.items()
            for p in positions
        ],
        "source": _from_topic(survey.source),
        "target": _from_topic(survey.target),
        "ends": [[p, end] for p, end in survey.ends.items()],
        "settled": [
            [s.partition, s.sequence, s.source_offset, s.readable]
            for s in survey.settlements
        ],
        "clusters": [survey.source_cluster, survey.target_cluster],
        "ordered": survey.ordered,
    }


def _to_survey(written: Json) -> CanarySurvey:
    positions: dict[int, tuple[MirrorPosition, ...]] = {}
    for partition, origin, position, seen_at, counts_at in written[
        "positions"
    ]:
        found = MirrorPosition(
            origin=ORIGINS[origin],
            position=position,
            seen_at=_at(seen_at),
            counts_at=_at(counts_at),
        )
        positions[partition] = (*positions.get(partition, ()), found)
    source_cluster, target_cluster = written["clusters"]
    return CanarySurvey(
        at=_at(written["at"]),
        positions=positions,
        target=_to_topic(written["target"]),
        ends=dict(written["ends"]),
        source=_to_topic(written["source"]),
        settlements=tuple(
            SettledProbe(
                partition=partition,
                sequence=sequence,
                source_offset=offset,
                readable=readable,
            )
            for partition, sequence, offset, readable in written["settled"]
        ),
        source_cluster=source_cluster,
        target_cluster=target_cluster,
        ordered=written["ordered"],
    )


def _from_topic(topic: TopicState | None) -> Any:
    return None if topic is None else [topic.id, sorted(topic.partitions)]


def _to_topic(written: Any) -> TopicState | None:
    if written is None:
        return None
    id_, partitions = written
    return TopicState(id=id_, partitions=frozenset(partitions))


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _span(microseconds: int) -> timedelta:
    return timedelta(microseconds=microseconds)
