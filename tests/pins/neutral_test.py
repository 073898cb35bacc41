from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from .neutral import Codec
from .pinned import facts, plain, sentences


@dataclass(frozen=True)
class Part:
    offset: int


@dataclass(frozen=True)
class Whole:
    at: datetime
    took: timedelta
    parts: Mapping[tuple[str, int], Part] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()


WHOLE = Whole(
    at=datetime(2026, 1, 2, tzinfo=UTC),
    took=timedelta(milliseconds=3),
    parts={("t", 1): Part(7)},
    topics=frozenset({"b", "a"}),
)


def test_values_are_plain_json_and_read_back() -> None:
    written = plain(Codec().encode(WHOLE))
    assert written == {
        "at": "2026-01-02T00:00:00+00:00",
        "took": 3000,
        "parts": [[["t", 1], {"offset": 7}]],
        "topics": ["a", "b"],
    }
    assert Codec().decode(Whole, written) == WHOLE


def test_a_field_may_be_called_otherwise_than_it_was() -> None:
    codec = Codec()
    codec.rename(Part, offset="place")
    codec.rename(Whole, took="duration")
    written = plain(codec.encode(WHOLE))
    assert written["duration"] == 3000
    assert written["parts"] == [[["t", 1], {"place": 7}]]
    assert codec.decode(Whole, written) == WHOLE


def test_sentences_are_kept_apart_from_what_they_are_about() -> None:
    document = {
        "health": "ok",
        "reason": "Fine",
        "runbook": "/runbook#fine",
        "evidence": {"lag": 3, "also_1": "Two of them wait", "id": "a b"},
    }
    assert facts(document) == {
        "health": "ok",
        "reason": "<sentence>",
        "runbook": "<sentence>",
        "evidence": {"lag": 3, "also_1": "<sentence>", "id": "a b"},
    }
    assert sentences(document) == {
        "/reason": "Fine",
        "/runbook": "/runbook#fine",
        "/evidence/also_1": "Two of them wait",
    }
