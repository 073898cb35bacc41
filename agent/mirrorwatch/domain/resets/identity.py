"""Whether clusters, and the mirror's own topics, still are those known."""

from collections.abc import Mapping

from ..view import FlowView
from .books import ResetBooks
from .event import Kind

__all__ = ["check_clusters", "check_homes"]


def check_clusters(
    books: ResetBooks, view: FlowView, accepted: Mapping[str, str]
) -> bool:
    """Pin the ids of both clusters; tell whether they are those pinned.

    Parameters
    ----------
    books
        The books.
    view
        What was seen.
    accepted
        Ids that the configuration gives, by alias: they rule.
    """
    same = True
    for side, cluster in (("source", view.source), ("target", view.target)):
        if cluster is None:
            continue
        alias = cluster.alias
        pinned = books.pins.get(("cluster", alias))
        wanted = accepted.get(alias) or pinned or cluster.id
        known = books.open(Kind.OTHER_CLUSTER, alias)
        if wanted != cluster.id:
            same = False
            if known is not None and known.now != cluster.id:
                books.change(known, now=cluster.id)
            elif known is None:
                books.begin(
                    Kind.OTHER_CLUSTER,
                    alias,
                    view.at,
                    counted=(),
                    before=wanted,
                    now=cluster.id,
                )
            continue
        if known is not None:
            books.drop(known)
        if pinned is not None and pinned != cluster.id:
            _begin_anew(books, side)
        books.pin("cluster", alias, cluster.id)
    return same


def _begin_anew(books: ResetBooks, side: str) -> None:
    """Forget what was known of a cluster that another one has replaced."""
    books.unpin(side)
    if side == "source":
        for place in books.places.values():
            place.reached = place.committed = place.upstream = None
            place.downstream = None
    else:
        for place in books.places.values():
            place.downstream = None
    books.touched.update(books.places)


def check_homes(
    books: ResetBooks,
    homes: Mapping[str, str | None],
    view: FlowView,
    internal: Mapping[str, str],
    *,
    from_end: bool,
) -> None:
    """Pin the ids of the topics in which the mirror keeps its positions.

    Parameters
    ----------
    books
        The books.
    homes
        Ids of the topics that were looked for, by kind.
    view
        What was seen.
    internal
        Names of these topics, by kind.
    from_end
        Whether a mirror without a position begins at the end.
    """
    for what, kind in (
        ("offsets", Kind.OFFSETS_GONE),
        ("syncs", Kind.SYNCS_GONE),
    ):
        if what not in homes:
            continue
        found, pinned = homes[what], books.pins.get(("internal", what))
        name = internal.get(what, what)
        known = books.open(kind, name)
        if pinned is not None and found != pinned and known is None:
            had = [
                place
                for place, kept in books.places.items()
                if kept.committed is not None
            ]
            known = books.begin(
                kind,
                name,
                view.at,
                counted={t for t, _ in had} if what == "offsets" else (),
                places=len(had),
                before=pinned,
                from_end=from_end,
            )
        if found is None:
            continue
        if known is not None:
            books.change(known, settled=view.at, now=found)
        books.pin("internal", what, found)
