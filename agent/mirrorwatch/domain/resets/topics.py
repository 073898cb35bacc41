"""Whether topics still are the ones that they were."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..positions import Committed
from ..view import ClusterView, FlowView, TopicPartition
from .books import ResetBooks
from .event import Kind
from .place import Place

__all__ = ["Before", "check_topics"]


@dataclass(frozen=True, slots=True)
class Before:
    """What both sides said one survey earlier."""

    source: ClusterView | None = None
    target: ClusterView | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def reached(self, place: TopicPartition, known: Place) -> int | None:
        """Return the next source offset of a place, as it was then."""
        remote = self.names.get(place[0])
        if self.target is None or remote is None:
            return known.estimate(None)
        return known.estimate(self.target.ends.get((remote, place[1])))


def check_topics(
    books: ResetBooks,
    view: FlowView,
    before: Before,
    newest: Mapping[TopicPartition, Committed],
) -> set[str]:
    """Pin the ids of all topics; return those that are new at the source.

    Parameters
    ----------
    books
        The books.
    view
        What was seen; the source has answered.
    before
        What was seen one survey earlier.
    newest
        Newest commit of each place: of the topic that is no more.
    """
    assert view.source is not None  # noqa: S101 - the caller looked
    _check_target(books, view, before)
    found = set()
    for topic in view.names:
        id_ = view.source.topics[topic].id
        pinned = books.pins.get(("source", topic))
        if pinned != id_:
            if pinned is not None:
                found.add(topic)
                _replace(books, view, before, newest, topic)
            books.pin("source", topic, id_)
    return found


def _replace(
    books: ResetBooks,
    view: FlowView,
    before: Before,
    newest: Mapping[TopicPartition, Committed],
    topic: str,
) -> None:
    """Open a reset for each partition of a topic that was made again."""
    source = view.source
    assert source is not None  # noqa: S101 - the caller looked
    for partition, place in list(books.places_of(topic)):
        key = (topic, partition)
        reached = before.reached(key, place) or 0
        old_end = None
        if before.source is not None:
            old_end = before.source.ends.get(key)
        for kind in (Kind.EXPIRED, Kind.BEYOND, Kind.REWIND):
            known = books.open(kind, topic, partition)
            if known is not None:
                books.change(known, settled=view.at)
        waiting = books.open(Kind.SOURCE_RECREATED, topic, partition)
        if waiting is not None:
            books.change(waiting, settled=view.at)
        books.begin(
            Kind.SOURCE_RECREATED,
            topic,
            view.at,
            partition=partition,
            first=source.starts.get(key, 0),
            end=reached,
            log_end=source.ends.get(key),
            target_end=_target_end(view, key),
            gone=max(0, (old_end or 0) - reached),
        )
        fact = newest.get(key)
        books.places[key] = Place(
            committed_at=fact.written_at if fact else place.committed_at,
            # Syncs that go on from there are still of the old topic.
            upstream=place.upstream,
            downstream=place.downstream,
            synced_at=place.synced_at,
        )
        books.touched.add(key)


def _target_end(view: FlowView, place: TopicPartition) -> int | None:
    if view.target is None:
        return None
    return view.target.ends.get((view.names[place[0]], place[1]))


def _check_target(books: ResetBooks, view: FlowView, before: Before) -> None:
    if view.target is None:
        return
    new = set()
    for remote in set(view.names.values()):
        facts = view.target.topics.get(remote)
        if facts is None:
            continue
        pinned = books.pins.get(("target", remote))
        if pinned is not None and pinned != facts.id:
            new.add(remote)
        books.pin("target", remote, facts.id)
    for topic, remote in view.names.items():
        places = dict(books.places_of(topic)) if remote in new else {}
        if not places:
            continue
        for partition, place in places.items():
            place.downstream = None
            books.touched.add((topic, partition))
        books.begin(
            Kind.TARGET_RECREATED,
            topic,
            view.at,
            settled=view.at,
            places=len(places),
            gone=_copies(before.target, remote),
            now=remote,
        )


def _copies(target: ClusterView | None, remote: str) -> int:
    """Return how many offsets a topic held at the target."""
    if target is None:
        return 0
    return sum(
        end - target.starts.get(place, 0)
        for place, end in target.ends.items()
        if place[0] == remote
    )
