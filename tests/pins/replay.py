"""Goes through recorded facts again, with today's code."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .pinned import DATA, facts, keep, plain, sentences
from .seam_checks import Judge
from .seam_trackers import Trackers

__all__ = ["Said", "differences", "pack", "pin_sentences", "replayed"]

FACTS = DATA / "facts.jsonl.gz"
"""Events in their order; without the sentences of what was returned."""

MOST = 10
"""Differences that are told: the first one leads to the others."""

Json = dict[str, Any]


class Said:
    """The sentences of what was returned.

    Each stands once, with the numbers of the events of its kind that said
    it: of ticks, and of what trackers were given, by its kind.
    """

    def __init__(self) -> None:
        self._ticks: dict[str, dict[str, list[int]]] = {}
        self._others: dict[str, dict[str, list[int]]] = {}
        self._numbers: Counter[str] = Counter()

    def note(self, kind: str, returned: Any) -> None:
        """Take what an event returned."""
        self._numbers[kind] += 1
        number = self._numbers[kind]
        if kind != "tick":
            self._note(self._others, kind, number, returned)
            return
        for verdict in returned:
            self._note(self._ticks, verdict["check"], number, verdict)

    @property
    def reasons(self) -> Json:
        """By check: its sentences, with the ticks."""
        return _in_ranges(self._ticks)

    @property
    def others(self) -> Json:
        """By kind of event: its sentences, with the events."""
        return _in_ranges(self._others)

    @staticmethod
    def _note(
        said: dict[str, dict[str, list[int]]],
        key: str,
        number: int,
        returned: Any,
    ) -> None:
        for sentence in sentences(returned).values():
            numbers = said.setdefault(key, {}).setdefault(sentence, [])
            if numbers[-1:] != [number]:
                numbers.append(number)


def replayed() -> Iterator[tuple[Json, Any]]:
    """Return each recorded event with what is returned today."""
    with gzip.open(FACTS, "rt", encoding="utf-8") as lines:
        setting, *stream = map(json.loads, lines)
    trackers, judge = Trackers(setting), Judge()
    for event in stream:
        take = judge.take if event["kind"] == "tick" else trackers.take
        yield event, plain(take(event))


def differences() -> tuple[list[str], Said]:
    """Return what is returned otherwise today, and all sentences."""
    wrong: list[str] = []
    said = Said()
    for number, (event, returned) in enumerate(replayed(), 1):
        was, now = _known(event.get("returned")), _known(facts(returned))
        if now != was and len(wrong) < MOST:
            at = f"event {number}, {event['kind']}"
            wrong += [f"{at}{d}" for d in _compare(was, now, "")][:MOST]
        said.note(event["kind"], returned)
    return wrong, said


def pack(setting: Json, recorded: Path) -> None:
    """Keep a recording: what was returned without its sentences.

    The sentences are those of today's code, so they are kept by replaying.
    """
    with recorded.open(encoding="utf-8") as lines:
        packed = [json.dumps(setting), *map(_pack, lines)]
    text = "\n".join(packed) + "\n"
    FACTS.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def pin_sentences() -> None:
    """Keep the sentences that today's code says of the recorded facts."""
    _, said = differences()
    keep("facts.said", said.others)
    keep("reasons", said.reasons)


def _pack(line: str) -> str:
    event = json.loads(line)
    if "returned" in event:
        event["returned"] = facts(event["returned"])
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False)


def _in_ranges(said: dict[str, dict[str, list[int]]]) -> Json:
    return {
        key: {text: _ranges(numbers) for text, numbers in found.items()}
        for key, found in sorted(said.items())
    }


def _ranges(numbers: Iterable[int]) -> str:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in ranges)


READ_SINCE = "made.anew"
"""Topic that was recreated: today it is read from its first copy on, of which
the recording has no reading. Until it is read its position is not known."""

NEW_OF_LAG = {"scarcer", "just_seen", "unmeasured", "unfilled"}
"""What lags have now and the recording has not."""


A_SECOND = {
    "headroom/remaining": 1_000_000,
    "headroom/share": 1 / 60,
    "topics/seconds": 1.0,
}
"""A second, and its share of a minute, the shortest retention. Today time to
loss is counted from the timestamp of a record that waits for long, and not
from when it was first seen; and where there are more ends of a partition than
are kept, how long records have waited from other ends."""


def _known(returned: Any) -> Any:
    """Return what trackers of skips return without that topic, those of
    positions without what the recording is older than, and verdicts of
    `retention` and `topics` with ok for unknown: where a partition's lag is
    unknown, or a missing topic was not looked up since the agent started,
    they were ok until 2026-11-26. When they were which is in the pinned
    reasons.
    """
    match returned:
        case [{"check": _, "health": _}, *_]:
            return [
                {
                    key: "ok"
                    if (key, value) == ("health", "unknown")
                    else value
                    for key, value in verdict.items()
                    if key != "since"
                }
                if verdict["check"] in {"retention", "topics"}
                else verdict
                for verdict in returned
            ]
        case {"seen": {"keeps_offsets": False, **seen}, **rest}:
            return rest | {"seen": seen}
        case {"topics": [{"scarcer": _}, *_] as topics, **rest}:
            # None of the recorded ones is limited by both time and size.
            lags = [
                {k: v for k, v in t.items() if k not in NEW_OF_LAG}
                for t in topics
            ]
            return rest | {"topics": lags}
        case {"positions": list(places), **rest}:
            known = [place for place in places if place[0] != READ_SINCE]
            return rest | {"positions": known}
        case [{"topic": _, "pairs": _}, *_]:
            return [w for w in returned if w["topic"] != READ_SINCE]
        case _:
            return returned


def _name(place: str) -> str:
    """Return what a place is called, whichever of a list it is."""
    return "/".join([p for p in place.split("/") if not p.isdigit()][-2:])


def _compare(was: Any, now: Any, place: str) -> Iterator[str]:
    match was, now:
        case dict(), dict() if was.keys() == now.keys():
            for key in was:
                yield from _compare(was[key], now[key], f"{place}/{key}")
        case list(), list() if len(was) == len(now):
            for n, (one, other) in enumerate(zip(was, now, strict=True)):
                yield from _compare(one, other, f"{place}/{n}")
        case int(), None if _name(place) == "topics/drain":
            # A partition stands, which was taken for no reason until then.
            pass
        case ((int() | float()), (int() | float())) if abs(
            was - now
        ) <= A_SECOND.get(_name(place), 0):
            pass
        case _ if was != now:
            yield f"{place}: was {was!r}, is {now!r}"
        case _:
            pass
