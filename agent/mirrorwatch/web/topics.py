"""Document of ``/api/topics``."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from ..domain.lag.model import (
    FirstLoss,
    LagObservation,
    LagStatus,
    TopicLag,
    first_loss,
)
from ..domain.losses.model import LostRecords
from ..domain.position.model import PositionObservation
from ..domain.report import Flow, Observation
from ..domain.skips.model import SkipsObservation
from ..exceptions import WebError
from ..ports import Report
from .status import Freshness, age_document, seconds, time_text

__all__ = [
    "SORTS",
    "TopicsQuery",
    "choose",
    "losses_document",
    "topics_document",
]


Facts = Mapping[str, Mapping[str, int]]

NAMES = (
    "skipped_records",
    "filtered_records",
    "recovered_records",
    "repeated_records",
    "unverifiable_offsets",
    "position_resets",
    "expired_records",
)
"""Counts since the state file was made; `null` while they are not known."""


def _resets(seen: Observation) -> Facts:
    if not isinstance(seen, PositionObservation):
        return {}
    return {
        topic: {
            "position_resets": number,
            "expired_records": seen.lost.get(topic, LostRecords()).expired,
        }
        for topic, number in seen.counts.items()
    }


def _skips(seen: Observation) -> Facts:
    if not isinstance(seen, SkipsObservation):
        return {}
    return {
        topic: {
            "skipped_records": tally.skipped - tally.filtered,
            "filtered_records": tally.filtered,
            "recovered_records": tally.recovered,
            "repeated_records": tally.repeated,
            "unverifiable_offsets": tally.unverifiable,
        }
        for topic, tally in seen.counters
    }


READERS: tuple[Callable[[Observation], Facts], ...] = (_resets, _skips)
"""Each reads one kind of observation, and nothing of the others."""


def topic_facts(observations: Iterable[Observation], flow: str) -> Facts:
    """Return the counts of a flow's topics, as far as they are known.

    Parameters
    ----------
    observations
        Observations of one tick.
    flow
        Name of the flow.
    """
    found: dict[str, dict[str, int]] = {}
    for seen in observations:
        if seen.flow == flow:
            for read in READERS:
                for topic, counts in read(seen).items():
                    found.setdefault(topic, {}).update(counts)
    return found


def missing(counts: Mapping[str, int]) -> int:
    """Return how many records of a topic are not at the target; not those
    that a filter drops on purpose.
    """
    return not_copied(counts) or 0


def not_copied(counts: Mapping[str, int]) -> int | None:
    """Return how many records of a topic are proved to be lost and not copied
    since; `None` if that is not known.
    """
    skipped = counts.get("skipped_records")
    if skipped is None:
        return None
    # Of the recovered ones some may have been dropped by a filter.
    dropped = max(0, skipped - counts.get("recovered_records", 0))
    return dropped + counts.get("expired_records", 0)


DEFAULT_TOP = 50
"""Topics listed of each flow: a screen or two. A thousand would be half a
megabyte, which is for who asks for it."""

YES = {"1", "true"}
NO = {"0", "false"}

SORTS = (
    "worst",
    "topic",
    "class",
    "status",
    "lag_records",
    "lag_seconds",
    "drain_seconds",
    "time_to_loss_seconds",
    "missing_records",
)
"""By what topics can be put in order; ``worst`` by how much they matter."""

ORDERS = ("asc", "desc")


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsQuery:
    """Which topics are asked for."""

    flow: str | None = None
    """Name of the only flow that is wanted, `None` for every one."""

    top: int | None = DEFAULT_TOP
    """Limit of topics for each flow; `None` for all."""

    topic_class: str | None = None
    """Class of the topics that are wanted (empty: those of none), `None` for
    every one."""

    status: str | None = None
    """Status of the topics that are wanted, `None` for every one."""

    search: str = ""
    sort: str = SORTS[0]
    descending: bool = False
    """Largest first; without effect on ``worst``."""

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """Read the parameters of a request.

        Raises
        ------
        WebError
            Raised with what is allowed if one of them makes no sense.
        """
        every = given.get("all", "0").lower()
        if every not in YES | NO:
            raise WebError(f"'all' is {every!r}: give 1 or 0")
        top = given.get("top", str(DEFAULT_TOP))
        if not (top.isascii() and top.isdigit()):
            raise WebError(f"'top' is {top!r}: give a whole number, or all=1")
        return cls(
            flow=given.get("flow"),
            # Digits without end would be slow to read.
            top=None if every in YES else int(top[:6]),
            topic_class=given.get("class"),
            status=_one_of("status", given.get("status"), list(LagStatus)),
            search=given.get("search", "").strip().lower(),
            sort=_one_of("sort", given.get("sort"), SORTS) or SORTS[0],
            descending=_one_of("order", given.get("order"), ORDERS) == "desc",
        )


def _one_of(
    name: str, given: str | None, allowed: tuple[str, ...] | list[LagStatus]
) -> str | None:
    if given is None or given in allowed:
        return given
    raise WebError(f"{name!r} is {given!r}: give one of {', '.join(allowed)}")


CALM = {LagStatus.EVEN, LagStatus.MOVING}

NOTED_SECONDS = 5
"""Age from which what waits is worth a line. Records on their way are not: on
a healthy flow others are at every look, and a list of them would hide the
topic that stands."""

Key = Callable[[TopicLag, Mapping[str, int]], float | int | str | None]

STATUSES = list(LagStatus)

KEYS: Mapping[str, Key] = {
    "topic": lambda topic, _: topic.topic,
    "class": lambda topic, _: topic.topic_class,
    "status": lambda topic, _: STATUSES.index(topic.status),
    "lag_records": lambda topic, _: topic.records,
    "lag_seconds": lambda topic, _: topic.seconds,
    "drain_seconds": lambda topic, _: seconds(topic.drain),
    "time_to_loss_seconds": lambda topic, _: seconds(
        topic.headroom.remaining if topic.headroom else None
    ),
    "missing_records": lambda _, counts: missing(counts),
}
"""Sort keys of the topics; `None` is always last."""


def choose(
    topics: Iterable[TopicLag], counts: Facts, query: TopicsQuery
) -> list[TopicLag]:
    """Return the topics that are asked for, in the order asked for.

    Parameters
    ----------
    topics
        Topics of one flow.
    counts
        Counts of the topics beside their lag.
    query
        Query of the request. Its ``top`` is left to the caller, who may want
        to show how many there are.
    """
    wanted = [
        topic
        for topic in topics
        if query.topic_class in {None, topic.topic_class}
        and query.status in {None, topic.status}
        and query.search in topic.topic.lower()
    ]
    wanted.sort(key=lambda topic: _worst_first(topic, counts))
    key = KEYS.get(query.sort)
    if key is None:
        return wanted
    keyed = [(key(t, counts.get(t.topic, {})), t) for t in wanted]
    known = [(value, t) for value, t in keyed if value is not None]
    # Stable: what is alike stays in the order of how much it matters.
    known.sort(key=lambda pair: pair[0], reverse=query.descending)
    return [
        *(topic for _, topic in known),
        *(topic for value, topic in keyed if value is None),
    ]


def is_late(topic: TopicLag) -> bool:
    """Return whether what waits of a topic is worth a line."""
    return topic.status not in CALM or topic.seconds >= NOTED_SECONDS


def _worst_first(topic: TopicLag, counts: Facts) -> tuple[float | str, ...]:
    """Return what sorts a topic: how late first, then what is missing, then
    what is on its way, then what would be lost next.
    """
    gone = missing(counts.get(topic.topic, {}))
    left = topic.headroom.remaining if topic.headroom else timedelta.max
    late = topic.seconds if is_late(topic) else -1
    return (
        *(-late, -gone, -topic.seconds, -topic.records),
        *(left.total_seconds(), topic.topic),
    )


FIRST = 5
"""Topics named that would lose records first: those that must be saved."""

LOSING = TopicsQuery(sort="time_to_loss_seconds")


def topics_document(
    report: Report | None,
    query: TopicsQuery,
    freshness: Freshness,
    now: datetime,
) -> dict[str, Any]:
    """Return what the API says about topics, the worst first by default.

    Parameters
    ----------
    report
        Last report, if there is one.
    query
        Which flows, and which topics of each.
    freshness
        Age of the report.
    now
        Current time.

    Notes
    -----
    Sums are those of all topics, however few are listed. What nobody could
    say is `null`, never 0.
    """
    flows = () if report is None else report.flows
    return {
        "at": None if report is None else time_text(report.at),
        "agent": age_document(freshness, now),
        "flows": [
            _flow(report, flow, query)
            for flow in flows
            if report is not None and query.flow in {None, flow.name}
        ],
    }


def _flow(report: Report, flow: Flow, query: TopicsQuery) -> dict[str, Any]:
    named = {"name": flow.name, "source": flow.source, "target": flow.target}
    problems: tuple[str, ...] = ()
    for seen in report.observations:
        if isinstance(seen, LagObservation) and seen.flow == flow.name:
            if seen.topics or not seen.problems:
                counts = topic_facts(report.observations, flow.name)
                return named | _topics(seen, counts, query)
            problems = seen.problems
    return named | {
        "observed_at": None,
        "problems": list(problems),
        "matching": 0,
        "topics": [],
    }


def _topics(
    seen: LagObservation, counts: Facts, query: TopicsQuery
) -> dict[str, Any]:
    chosen = choose(seen.topics, counts, query)
    classes: dict[str, list[TopicLag]] = {}
    for topic in seen.topics:
        classes.setdefault(topic.topic_class, []).append(topic)
    statuses = Counter(topic.status for topic in seen.topics)
    return {
        "observed_at": time_text(seen.at),
        "problems": list(seen.problems),
        "unknown_partitions": seen.unknown_partitions,
        "retention_known": seen.configs_known and not seen.configs_refused,
        **losses_document(seen.topics),
        "totals": _sums(seen.topics) | _count_sums(counts),
        "statuses": {status: statuses[status] for status in LagStatus},
        "classes": [
            {"class": name} | _sums(topics)
            for name, topics in sorted(classes.items())
        ],
        "first_to_lose": [
            _topic(topic, counts.get(topic.topic, {}))
            for topic in choose(seen.topics, counts, LOSING)[:FIRST]
            if topic.headroom is not None
        ],
        "matching": len(chosen),
        "topics": [
            _topic(topic, counts.get(topic.topic, {}))
            for topic in chosen[: query.top]
        ],
    }


def _sums(topics: Sequence[TopicLag]) -> dict[str, Any]:
    return {
        "topics": len(topics),
        "topics_behind": sum(topic.records > 0 for topic in topics),
        "lag_records": sum(topic.records for topic in topics),
        "lag_seconds": _rounded(max((t.seconds for t in topics), default=0)),
        "lag_seconds_at_least": any(t.at_least for t in topics),
    }


def _count_sums(counts: Facts) -> dict[str, int | None]:
    sums: dict[str, int | None] = {}
    for name in NAMES:
        known = [c[name] for c in counts.values() if name in c]
        sums[name] = sum(known) if known else None
    return sums


def _topic(topic: TopicLag, counts: Mapping[str, int]) -> dict[str, Any]:
    left = topic.headroom
    return {
        "topic": topic.topic,
        "class": topic.topic_class,
        "status": topic.status,
        "notable": is_late(topic) or missing(counts) > 0,
        "lag_records": topic.records,
        "lag_seconds": _rounded(topic.seconds),
        "lag_seconds_at_least": topic.at_least,
        "partition": topic.partition,
        "position": topic.position,
        "position_by": topic.origin or None,
        "stuck_seconds": _seconds(topic.stuck),
        "drain_seconds": _seconds(topic.drain),
        "time_to_loss_seconds": _seconds(left.remaining if left else None),
        "time_to_loss_share": _rounded(left.share) if left else None,
        "time_to_loss_estimated": left.estimated if left else None,
        "missing_records": not_copied(counts),
    } | {name: counts.get(name) for name in NAMES}


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else _rounded(duration.total_seconds())


def _rounded(number: float) -> float:
    """Return a number to a thousandth: a millisecond, a tenth of a percent."""
    return round(number, 3)


def losses_document(topics: Iterable[TopicLag]) -> dict[str, Any]:
    """Return which topic would lose records first.

    Parameters
    ----------
    topics
        Topics of one flow.

    Notes
    -----
    Two answers: were the mirror to stop now, a topic that is kept for an hour
    loses what is written next before one that is kept for days; but of what
    waits already another topic may be the first to lose.
    """
    seen = list(topics)
    return {
        "time_to_loss": _show(first_loss(seen)),
        "waiting_time_to_loss": _show(
            first_loss([topic for topic in seen if topic.records])
        ),
    }


def _show(loss: FirstLoss | None) -> dict[str, Any] | None:
    if loss is None:
        return None
    left = loss.headroom
    return {
        "topic": loss.topic.topic,
        "others_alike": loss.others_alike,
        "seconds": _seconds(left.remaining),
        "share": _rounded(left.share),
        "estimated": left.estimated,
        "lag_records": loss.topic.records,
        "drain_seconds": _seconds(loss.topic.drain),
    }
