"""Finds clusters and topics that were replaced by others of the same name."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ..cluster_view import ClusterView, FlowView, TopicPartition
from ..mirror_records import Committed
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
        for place in state.places.values():
            place.reached = place.committed = place.upstream = None
            place.downstream, place.empty_until = None, 0
    else:
        for place in state.places.values():
            place.downstream = None
    state.touched.update(state.places)


def check_topics(
    state: PositionState,
    view: FlowView,
    before: FlowView | None,
    newest: Mapping[TopicPartition, Committed],
) -> set[str]:
    """Pin the ids of all topics; return those that are new at the source.

    Parameters
    ----------
    state
        The state.
    view
        Snapshot of the flow in this survey; the source has answered.
    before
        Snapshot of one survey earlier, if there is one.
    newest
        Newest commit of each partition: of the topic that is no more.
    """
    assert view.source is not None  # noqa: S101 - the caller looked
    ids = {topic: view.source.topics[topic].id for topic in view.names}
    found = {
        topic
        for topic, id_ in ids.items()
        if state.pins.get(("source", topic), id_) != id_
    }
    _reopen(state, ids)
    anew = _check_target(state, view, before)
    _note_lost_copies(state, view, anew, found)
    for topic, id_ in ids.items():
        if topic in found:
            remote = view.names[topic]
            remade = state.pins["target", remote] if remote in anew else ""
            _replace(state, view, newest, topic, remade)
        state.pin("source", topic, id_)
    return found


def _reopen(state: PositionState, ids: Mapping[str, str]) -> None:
    """Open again what was settled as its topic was gone, and is there again.

    It may only have been denied. What the mirror makes of it is still to be
    seen, and would else count the same records once more.
    """
    for reset in list(state.resets.values()):
        if (
            reset.kind is ResetKind.EXPIRED
            and reset.away
            and reset.before == ids.get(reset.topic)
            and not reset.summed
        ):
            state.change(reset, settled=None, away=False)


def _replace(
    state: PositionState,
    view: FlowView,
    newest: Mapping[TopicPartition, Committed],
    topic: str,
    remade: str,
) -> None:
    """Open a reset for each partition of a recreated topic.

    Parameters
    ----------
    state
        The state.
    view
        Snapshot of the flow in this survey.
    newest
        Newest commit of each partition.
    topic
        Which topic.
    remade
        Its id at the target where it was recreated there, too, since it was
        last seen: copies of the new topic may lie anywhere in it.

    Notes
    -----
    One that was recreated before, of which the mirror had not shown what it
    makes: of the topic in between, nobody knows which records it copied.

    Of partitions that the new topic lacks, nothing is reported but what went
    with them. The mirror keeps its positions there, should the topic grow.
    """
    source = view.source
    assert source is not None  # noqa: S101 - the caller looked
    partitions = source.topics[topic].partitions
    for (name, partition), place in list(state.places.items()):
        key = (topic, partition)
        waiting = state.open(ResetKind.SOURCE_RECREATED, topic, partition)
        if name != topic or (place.reached is None and waiting is None):
            continue
        reached = place.estimate(place.target_end) or 0
        left = (place.source_end or 0) - max(reached, place.empty_until)
        gone = max(0, left)
        unseen, lacked = not place.is_seen, False
        if waiting is not None:
            # It may go on where it was in either of the two.
            reached = max(reached, waiting.end or 0)
            lacked = waiting.away and place.source_end is None
            gone += waiting.gone
            unseen = waiting.unseen or (unseen and not lacked)
            state.drop(waiting)
        for kind in (ResetKind.EXPIRED, ResetKind.BEYOND, ResetKind.REWIND):
            known = state.open(kind, topic, partition)
            if known is not None:
                state.change(known, settled=view.at)
        lacks = partition >= partitions
        if (lacks and not lacked) or (not place.is_begun and (gone or unseen)):
            state.begin(
                ResetKind.SOURCE_RECREATED,
                topic,
                view.at,
                partition=partition,
                settled=view.at,
                gone=gone,
                unseen=unseen,
                harmless=True,
                away=lacks,
            )
            gone, unseen = 0, False
        state.touched.add(key)
        if not place.is_begun:
            state.places[key] = PartitionPosition()
            continue
        log_end = source.ends.get(key)
        target_end = 0 if remade else view.target_end(key)
        # Where the target grew, some copies may be of the new topic already.
        unsure = (log_end is None or log_end > reached) and (
            target_end is None
            or place.target_end is None
            or target_end > place.target_end
        )
        state.begin(
            ResetKind.SOURCE_RECREATED,
            topic,
            view.at,
            partition=partition,
            counted=() if lacks else None,
            # Every log begins there, whatever has expired of it since.
            first=0,
            end=reached,
            proved=reached if unsure else None,
            at_least=unsure or bool(remade),
            now=remade,
            log_end=log_end,
            target_end=target_end,
            former_end=None if remade else place.target_end,
            gone=gone,
            unseen=unseen,
            away=lacks,
        )
        fact = newest.get(key)
        state.places[key] = PartitionPosition(
            committed_at=fact.written_at if fact else place.committed_at,
            # Syncs that go on from there are still of the old topic.
            upstream=place.upstream,
            downstream=place.downstream,
            synced_at=place.synced_at,
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
    for reset in list(state.resets.values()) if anew else ():
        remote = view.names.get(reset.topic, "")
        if (
            reset.kind is ResetKind.SOURCE_RECREATED
            and reset.settled is None
            and remote in anew
        ):
            remade = state.pins["target", remote]
            state.change(
                reset,
                target_end=0,
                former_end=None,
                at_least=True,
                now=remade,
            )
    for topic, remote in view.names.items():
        places = dict(state.places_of(topic)) if remote in anew else {}
        if not places or topic in replaced:
            continue
        for partition, place in places.items():
            place.downstream = None
            state.touched.add((topic, partition))
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
