"""Freezes what an audit compares, before anything is read."""

from collections.abc import Callable, Iterable
from datetime import datetime

from ..config import Config, FlowConfig
from ..config.audit import AuditConfig
from ..domain.audit import Ends, Plan, Request
from ..domain.audit.adhoc import AdHoc, plan_window
from ..domain.audit.conversation import converse
from ..domain.audit.facts import LaneFacts, Talk
from ..domain.audit.nightly import Night, plan_night
from ..domain.audit.outcome import Outcome
from .answers import Answers
from .lanes import join_lanes
from .mirror import MirrorReader
from .offsets import freeze_offsets
from .sites import Sites
from .topics import find_topics

__all__ = ["freeze"]


def freeze(
    config: Config,
    request: Request,
    ends: Ends,
    *,
    clock: Callable[[], datetime],
) -> Plan:
    """Freeze what one audit compares.

    Parameters
    ----------
    config
        The whole configuration.
    request
        What is asked for.
    ends
        Up to where partitions were audited; of no concern to an ad hoc audit.
    clock
        Gives the time.

    Returns
    -------
    Plan
        Where a night was missed, only the first piece of what is left, of a
        day or a seventh of it: its `more` is true, and the same is to be
        asked for again with `ends_after` it and the number of the next piece.

    Raises
    ------
    SourceUnavailableError
        Raised if a cluster cannot be reached.
    SourceError
        Raised if it refuses.
    ConfigError
        Raised if the mirror's topics cannot be derived.

    Notes
    -----
    What is asked of a cluster grows with its brokers, and with batches of
    thousands of partitions, not with the partitions. No record of a carried
    topic is read, but one at the mirror's position where that is behind.
    """
    now = clock()
    if request.window is not None:
        ends = Ends()
    known = ends.by_place()
    with Sites(config) as sites:
        mirrors = {
            flow.name: MirrorReader(flow, sites, clock)
            for flow in _concerned(config, request)
        }
        for mirror in mirrors.values():
            mirror.read_configs()
        topics = find_topics(config, request, ends, sites, mirrors)
        offsets = freeze_offsets(topics.drafts, mirrors, sites, known)
        lanes, gaps = join_lanes(topics, offsets, mirrors, known)
        plan = _rules(config.audit or AuditConfig(), request, ends, now)
        outcomes = converse([plan(lane) for lane in lanes], Answers(sites))
    return Plan(
        id=request.run_id(now.date()),
        at=now,
        window=request.window,
        lanes=tuple(o.lane for o in outcomes if o.lane is not None),
        unverifiable=(
            *topics.unverifiable,
            *gaps,
            *(gap for o in outcomes for gap in o.unverifiable),
        ),
        stated=tuple(stated for o in outcomes for stated in o.stated),
        more=any(o.more for o in outcomes),
        gone=tuple(topics.gone),
    )


def _concerned(config: Config, request: Request) -> Iterable[FlowConfig]:
    """Return the flows that may share a target topic with those asked for."""
    targets = {
        flow.target
        for flow in config.flows
        if request.flow in {None, flow.name}
    }
    return [flow for flow in config.flows if flow.target in targets]


def _rules(
    audit: AuditConfig, request: Request, ends: Ends, now: datetime
) -> Callable[[LaneFacts], Talk[Outcome]]:
    """Return what works out what is compared of a lane."""
    if request.window is not None:
        adhoc = AdHoc(now=now, window=request.window, slack=audit.slack)
        return lambda lane: plan_window(lane, adhoc)
    night = Night(
        now=now, settle=audit.settle, slack=audit.slack, ends=ends.by_place()
    )
    return lambda lane: plan_night(lane, night)
