"""Finds clusters and topics that were replaced by others of the same name."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ..cluster_view import ClusterView, FlowView
from .model import PartitionPosition, PositionState, ResetKind

__all__ = ["check_clusters", "check_topics"]


def check_clusters(
    state: PositionState, view: FlowView, accepted: Mapping[str, str]
) -> bool:
    """Pin the ids of both clusters; return whether they are those pinned.

    Parameters
    ----------
    state
        The state.
    view
        Snapshot of the flow in this survey.
    accepted
        Ids that the configuration gives, by alias: they rule.
    """
    same = True
    for side, cluster in (("source", view.source), ("target", view.target)):
        if cluster is None:
            continue
        alias = cluster.alias
        pinned = state.pins.get(("cluster", alias))
        wanted = accepted.get(alias) or pinned or cluster.id
        known = state.open(ResetKind.OTHER_CLUSTER, alias)
        if wanted != cluster.id:
            same = False
            if known is not None and known.now != cluster.id:
                state.change(known, now=cluster.id)
            elif known is None:
                state.begin(
                    ResetKind.OTHER_CLUSTER,
                    alias,
                    view.at,
                    counted=(),
                    before=wanted,
                    now=cluster.id,
                )
            continue
        if known is not None:
            state.drop(known)
        if pinned is not None and pinned != cluster.id:
            _start_over(state, side)
        state.pin("cluster", alias, cluster.id)
    return same


def _start_over(state: PositionState, side: str) -> None:
    state.unpin(side)
    if side == "source":
        for key in state.places:
            state.places[key] = PartitionPosition()
        state.touched.update(state.places)


def check_topics(
    state: PositionState, view: FlowView, before: FlowView | None
) -> None:
    """Pin the ids of all topics, and note those that were recreated.

    Parameters
    ----------
    state
        The state.
    view
        Snapshot of the flow in this survey; the source has answered.
    before
        Snapshot of one survey earlier, if there is one.
    """
    assert view.source is not None  # noqa: S101 - the caller looked
    ids = {topic: view.source.topics[topic].id for topic in view.names}
    found = {
        topic
        for topic, id_ in ids.items()
        if state.pins.get(("source", topic), id_) != id_
    }
    anew = _check_target(state, view, before)
    _note_lost_copies(state, view, anew, found)
    for topic, id_ in ids.items():
        if topic in found:
            _replace(state, view, topic)
        state.pin("source", topic, id_)


def _replace(state: PositionState, view: FlowView, topic: str) -> None:
    """Open a reset for each partition of a recreated topic.

    A partition that the new topic lacks is settled at once: only what went
    with it is known.
    """
    assert view.source is not None  # noqa: S101 - the caller looked
    for key, place in list(state.places.items()):
        name, partition = key
        if name != topic:
            continue
        left = max(0, (place.source_end or 0) - place.next_offset)
        gone = left if left or key in state.seen else None
        for kind in (ResetKind.EXPIRED, ResetKind.BEYOND, ResetKind.REWIND):
            if (known := state.open(kind, *key)) is not None:
                state.change(known, settled=view.at)
        waiting = state.open(ResetKind.SOURCE_RECREATED, *key)
        reached = max(place.reached or 0, place.committed or 0)
        if waiting is not None:
            # Recreated twice: it may go on where it was in either of the two.
            reached = max(reached, waiting.end or 0)
            gone = None
            state.drop(waiting)
        lacks = partition >= view.source.topics[topic].partitions
        never_copied = not reached and waiting is None
        state.places[key] = PartitionPosition(committed_at=place.committed_at)
        state.touched.add(key)
        if never_copied and gone == 0:
            continue
        state.begin(
            ResetKind.SOURCE_RECREATED,
            topic,
            view.at,
            partition=partition,
            counted=() if lacks else None,
            settled=view.at if lacks or never_copied else None,
            # Every log begins there, whatever has expired of it since.
            first=0,
            end=0 if lacks or never_copied else reached,
            harmless=lacks or never_copied,
            log_end=view.source.ends.get(key),
            gone=gone,
        )


def _check_target(
    state: PositionState, view: FlowView, before: FlowView | None
) -> Mapping[str, int]:
    """Pin the ids of all topics at the target; return how many offsets those
    held that are recreated.
    """
    if view.target is None:
        return {}
    seen = before.target if before else None
    new: dict[str, int] = {}
    for remote in set(view.names.values()):
        known = seen.topics.get(remote) if seen else None
        facts = view.target.topics.get(remote)
        if facts is None:
            # Once it is created again, nobody can count what it held.
            if seen is not None and known is not None:
                state.deleted[remote] = _copies(seen, remote)
            continue
        held = state.deleted.pop(remote, 0)
        pinned = state.pins.get(("target", remote))
        if pinned is not None and pinned != facts.id:
            new[remote] = _copies(seen, remote) if seen and known else held
        state.pin("target", remote, facts.id)
    return new


def _note_lost_copies(
    state: PositionState,
    view: FlowView,
    anew: Mapping[str, int],
    replaced: AbstractSet[str],
) -> None:
    """Note what went with topics that were recreated at the target.

    Notes
    -----
    Where the source topic was replaced, too, what the copies were of is gone:
    no mirror can copy it again.
    """
    for topic, remote in view.names.items():
        places = dict(state.places_of(topic)) if remote in anew else {}
        if not places or topic in replaced:
            continue
        state.begin(
            ResetKind.TARGET_RECREATED,
            topic,
            view.at,
            settled=view.at,
            places=len(places),
            gone=anew[remote],
            now=remote,
        )


def _copies(target: ClusterView, remote: str) -> int:
    places = [(remote, n) for n in range(target.topics[remote].partitions)]
    return sum(
        target.ends[place] - target.starts.get(place, 0)
        for place in places
        if place in target.ends
    )
