"""`mirrorwatch failback`: source records that never came to the target."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..clock import utc_now
from ..config import Config, FlowConfig
from ..domain.cluster_view import TopicPartition
from ..domain.copies.tracker import CopyTracker
from ..domain.failover import texts
from ..domain.failover.failback import (
    ReplicatedLog,
    UncopiedRange,
    list_uncopied,
)
from ..domain.failover.translation import CopiedPartition
from ..domain.offsets import OffsetRange
from ..domain.position.model import PositionState
from ..domain.report import counted, seconds
from ..domain.tasks.model import name_partitions
from ..domain.topics import (
    FilteredTopics,
    ReplicatedTopics,
    Selection,
    ends_as_internal,
)
from ..exceptions import SourceError
from ..kafka.admin import Cluster, list_topics
from ..kafka.offsets import read_ends, read_starts
from ..kafka.reader import RangeReader
from ..state import Database
from ..state.copies import CopiesStore
from ..state.failover import SourceEnds, SourceEndStore
from ..state.position import PositionStore
from .options import choose_flows, config_option, flows_option
from .status import plain

__all__ = ["command"]

EXIT_UNCOPIED = 3
"""It ran, and there are records to copy, or there may be."""

NAMED = 5

OLD = timedelta(minutes=1)
"""Age of the agent's last reading from which topics may be newer: it reads
every 15 s."""


@click.command(
    "failback",
    short_help="List source records that never came to the target.",
    epilog="Examples: mirrorwatch failback; mirrorwatch failback --json",
)
@config_option
@flows_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    config: Config,
    names: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """List source records that never came to the target.

    Ranges of source offsets by partition: what was skipped, and what the
    mirror did not come to. The state file of the agent is enough, so the
    source may be lost; if it answers, its logs are taken as they are now.
    Exit status 3 if anything is listed, or cannot be.
    """
    flows = choose_flows(config, names)
    database = Database(config.state.path, beside=True)
    try:
        kept = [_Kept.load(database, flow.name) for flow in flows]
    finally:
        database.close()
    found = [
        _list(config, flow, each)
        for flow, each in zip(flows, kept, strict=True)
    ]
    if as_json:
        click.echo(json.dumps(_document(found), indent=2))
    else:
        console = Console(highlight=False)
        for flow in found:
            _print(flow, console)
    if any(flow.ranges or not flow.known for flow in found):
        ctx.exit(EXIT_UNCOPIED)


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """Saved state of one flow, from the state file."""

    ends: SourceEnds
    tracker: CopyTracker
    positions: PositionState

    @classmethod
    def load(cls, database: Database, flow: str) -> "_Kept":
        # The ends first: what they leave out was not copied either.
        ends = SourceEndStore(database, flow).load()
        return cls(
            ends=ends,
            tracker=CopiesStore(database, flow).load(),
            positions=PositionStore(database, flow).load(),
        )


@dataclass(frozen=True, kw_only=True)
class _Flow:
    name: str
    source: str
    target: str
    ends_at: datetime | None
    """Time of the last read of the source's ends; `None` for never."""

    known: bool
    ranges: Sequence[UncopiedRange]
    problems: Sequence[str]


@dataclass(kw_only=True)
class _Logs:
    """Log offsets from both clusters, by source partition."""

    at: datetime | None = None
    """Time of the source's answer; `None` without one."""

    places: Collection[TopicPartition] = ()
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    copies: Mapping[TopicPartition, int] | None = None
    """Ends of the target, 0 without a partition; `None` without an answer."""

    may_be_newer: bool = False
    """Source may have topics whose replication state is unknown."""

    problems: list[str] = field(default_factory=list)

    @classmethod
    def ask(
        cls, config: Config, flow: FlowConfig, kept: SourceEnds
    ) -> "_Logs":
        """Ask the target, then the source: see `FlowView`."""
        found, at = cls(places=kept.ends), utc_now()
        source = _cluster(config, flow.source)
        lost: SourceError | None = None
        try:
            listed = list_topics(source).partitions
            found.places = _find_places(flow, kept, listed)
            found.may_be_newer = (
                kept.at is not None
                and at - kept.at > OLD
                and not _is_chosen(flow)
                and not listed.keys() <= {topic for topic, _ in kept.ends}
            )
        except SourceError as e:
            lost = e
        copies = {
            (flow.topic_naming.remote(topic), p): (topic, p)
            for topic, p in found.places
        }
        try:
            cluster = _cluster(config, flow.target)
            there = list_topics(cluster).partitions
            ends = read_ends(
                cluster, [(t, p) for t, p in copies if p < there.get(t, 0)]
            )
            found.copies = {
                place: ends[key] if key[1] < there.get(key[0], 0) else 0
                for key, place in copies.items()
                if key in ends or key[1] >= there.get(key[0], 0)
            }
        except SourceError as e:
            found.problems.append(
                f"{e}. What MirrorMaker copied last is not known"
            )
        try:
            if lost is not None:
                raise lost
            found.starts = read_starts(source, found.places)
            found.ends = read_ends(source, found.places)
            found.at = at
        except SourceError as e:
            since = (
                "since mirrorwatch began"
                if kept.at is None
                else f"since {kept.at:%Y-%m-%d %H:%M:%S} UTC, "
                f"{seconds(utc_now() - kept.at)} ago,"
            )
            found.problems.append(
                f"{e}. What was written there {since} is not listed"
            )
            found.places = kept.ends
        return found


def _find_places(
    flow: FlowConfig, kept: SourceEnds, listed: Mapping[str, int]
) -> set[TopicPartition]:
    """Return the partitions of a source that are copied.

    Parameters
    ----------
    flow
        The flow.
    kept
        End offsets that the agent knew.
    listed
        Number of partitions by topic, as the source has it now.

    Notes
    -----
    Topics may be new since the agent has read them. Which of them MirrorMaker
    copies is known where that is configured; but not of names that end as
    internal ones, which it copies since Kafka 4.0 only.
    """
    topics = {topic for topic, _ in kept.ends if topic in listed}
    if kept.at is not None and _is_chosen(flow):
        carried = ReplicatedTopics(
            selection=flow.selection,
            naming=flow.topic_naming,
            target_alias=flow.mirror.target_alias,
        )
        names = carried.names(listed)
        topics |= {topic for topic in names if not ends_as_internal(topic)}
    return {(topic, p) for topic in topics for p in range(listed[topic])}


def _is_chosen(flow: FlowConfig) -> bool:
    return "include" in flow.topics.model_fields_set


def _cluster(config: Config, alias: str) -> Cluster:
    return Cluster(alias, dict(config.clusters[alias].kafka))


def _list(config: Config, flow: FlowConfig, kept: _Kept) -> _Flow:
    logs = _Logs.ask(config, flow, kept.ends)
    topics = _Topics(
        filtered=flow.filtered,
        merged=Selection(include=flow.topics.merged),
        remote=flow.topic_naming.remote,
    )
    problems = list(logs.problems)
    if kept.ends.at is None:
        problems.append(
            "mirrorwatch has not read the ends of the source yet: nothing "
            "can be listed"
        )
    silent = set(logs.places) - logs.ends.keys() if logs.at else set()
    if silent:
        problems.append(
            f"No leader at {flow.source}: {name_partitions(silent, NAMED)}. "
            "What was written there since mirrorwatch has read them is not "
            "listed"
        )
    if logs.at is not None and logs.may_be_newer and kept.ends.at:
        problems.append(
            f"Topics that were made at {flow.source} since mirrorwatch has "
            f"read it, {seconds(logs.at - kept.ends.at)} ago, are not listed: "
            "which of them MirrorMaker copies is not known without "
            "topics.include"
        )
    ranges = [
        found
        for place in sorted(logs.places)
        if place in logs.ends or place in kept.ends.ends
        for found in list_uncopied(_to_log(place, topics, kept, logs))
    ]
    if logs.at is not None:
        try:
            ranges = _leave_out_empty(config, flow, ranges)
        except SourceError as e:
            problems.append(f"{e}. Some ranges may hold no record")
    return _Flow(
        name=flow.name,
        source=flow.source,
        target=flow.target,
        ends_at=None if kept.ends.at is None else logs.at or kept.ends.at,
        known=kept.ends.at is not None
        and not silent
        and not (logs.at is not None and logs.may_be_newer),
        ranges=ranges,
        problems=problems,
    )


def _leave_out_empty(
    config: Config, flow: FlowConfig, ranges: Sequence[UncopiedRange]
) -> list[UncopiedRange]:
    """Leave out the last range of a partition if it holds no record."""
    tails = {(r.topic, r.partition): r for r in ranges}
    reader = RangeReader(dict(config.clusters[flow.source].kafka), flow.source)
    empty = reader.find_empty(
        (place, OffsetRange(r.first, r.last + 1)) for place, r in tails.items()
    )
    return [
        r
        for r in ranges
        if (place := (r.topic, r.partition)) not in empty
        or r is not tails[place]
    ]


@dataclass(frozen=True, kw_only=True)
class _Topics:
    """Topic configuration of one flow."""

    filtered: FilteredTopics
    merged: Selection

    remote: Callable[[str], str]


def _to_log(
    place: TopicPartition, topics: _Topics, kept: _Kept, logs: _Logs
) -> ReplicatedLog:
    topic, partition = place
    pair = kept.tracker.pairs.get(place)
    if pair is not None and pair.cursor is None and pair.since is None:
        pair = None  # no sync of it was ever read
    position = kept.positions.places.get(place)
    passed = 0 if position is None else position.committed or 0
    is_transactional = kept.tracker.is_transactional
    copied = (
        CopiedPartition()
        if pair is None
        else CopiedPartition.of(pair, is_transactional=is_transactional)
    )
    spans = [] if copied.coverage is None else copied.coverage.spans
    return ReplicatedLog(
        topic=topic,
        partition=partition,
        # Of a lost source, what lies before is not known to be there.
        start=logs.starts.get(place, spans[0].first if spans else 0),
        end=logs.ends[place] if place in logs.ends else kept.ends.ends[place],
        is_growing=place not in logs.ends,
        coverage=copied.coverage,
        cursor=copied.cursor,
        passed=passed if pair is None else max(pair.passed, passed),
        is_filtered=topics.filtered.matches(topic),
        target_end=None if logs.copies is None else logs.copies.get(place),
        watched_end=(0 if pair is None else pair.target_end)
        if topics.remote(topic) == topic
        else None,
        uncounted=_why_uncounted(
            topics,
            topic,
            is_shared=copied.is_shared or copied.is_mixed,
            is_transactional=is_transactional,
        ),
    )


def _why_uncounted(
    topics: _Topics, topic: str, *, is_shared: bool, is_transactional: bool
) -> str | None:
    """Return why the target's end does not show what was copied."""
    if topics.merged.matches(topic):
        return texts.MERGED
    if is_transactional:
        return texts.TRANSACTIONS
    if is_shared:
        return texts.SHARED
    if topics.filtered.matches(topic):
        return texts.TRANSFORMED
    return None


def _document(flows: Sequence[_Flow]) -> dict[str, Any]:
    return {
        "at": utc_now().isoformat(),
        "flows": [
            {
                "flow": flow.name,
                "source": flow.source,
                "target": flow.target,
                "source_ends_at": flow.ends_at and flow.ends_at.isoformat(),
                "count": sum(r.count for r in flow.ranges),
                "exact": flow.known
                and all(r.doubt is None for r in flow.ranges),
                "ranges": [
                    {
                        "topic": each.topic,
                        "partition": each.partition,
                        "first": each.first,
                        "last": each.last,
                        "count": each.count,
                        "exact": each.doubt is None,
                        "why": each.doubt,
                    }
                    for each in flow.ranges
                ],
                "problems": list(flow.problems),
            }
            for flow in flows
        ],
    }


def _print(flow: _Flow, console: Console) -> None:
    console.print(
        Text.assemble(
            (plain(f"{flow.source} → {flow.target}"), "bold"),
            plain(f"  {_sum_up(flow)}"),
        )
    )
    for problem in flow.problems:
        console.print(Text(f"! {plain(problem)}", style="bold yellow"))
    if flow.ranges:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("  topic", "first", "last", "offsets"):
            table.add_column(title, header_style="dim", no_wrap=True)
        table.add_column("why not exact", header_style="dim", overflow="fold")
        for each in flow.ranges:
            table.add_row(
                Text(plain(f"  {each.topic}[{each.partition}]")),
                Text(str(each.first)),
                Text(str(each.last)),
                Text(f"{'≤ ' if each.doubt else ''}{each.count}"),
                Text(plain(each.doubt or ""), style="dim"),
            )
        console.print(table)
    console.print()


def _sum_up(flow: _Flow) -> str:
    if flow.ends_at is None:
        return "nothing is known"
    until = f"{flow.ends_at:%Y-%m-%d %H:%M:%S} UTC"
    if not flow.ranges and not flow.known:
        return "what never came cannot be listed"
    if not flow.ranges:
        return f"all that {flow.source} held at {until} came to {flow.target}"
    count = sum(each.count for each in flow.ranges)
    most = "" if all(r.doubt is None for r in flow.ranges) else "at most "
    partitions = len({(r.topic, r.partition) for r in flow.ranges})
    return (
        f"{most}{counted(count, 'source offset')} of "
        f"{counted(partitions, 'partition')} never came to {flow.target}, as "
        f"of {until}"
    )
