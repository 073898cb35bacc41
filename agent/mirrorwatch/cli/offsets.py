"""`mirrorwatch offsets`: where consumer groups start at the target."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..clock import utc_now
from ..config import Config, FlowConfig
from ..domain.cluster_view import TopicPartition
from ..domain.copies.coverage import OffsetPair
from ..domain.failover.translation import (
    CopiedPartition,
    GroupState,
    Start,
    StartOffset,
    translate,
)
from ..domain.offsets import OffsetRange
from ..domain.position.model import PartitionPosition
from ..domain.report import seconds
from ..domain.topics import Selection
from ..exceptions import MirrorwatchError, SourceError
from ..kafka.admin import Cluster, list_topics
from ..kafka.offsets import find_first_since, read_ends, read_starts
from ..kafka.reader import RangeReader
from ..state import Database
from ..state.copies import CopiesStore
from ..state.failover import GroupStore, SourceEndStore
from ..state.position import PositionStore
from .options import (
    EXAMPLE,
    TIME,
    choose_flows,
    config_option,
    flows_option,
)
from .status import plain

__all__ = ["command"]

EXIT_UNTRANSLATED = 3
"""It ran, and a group has no start in some partition that misses nothing, or
it is not known whether a partition is drained."""

OLD = timedelta(minutes=1)
"""Age of a group's offsets from which it is said: they are read every 15 s."""


@click.command(
    "offsets",
    short_help="Show where consumer groups start at the target.",
    epilog="Examples: mirrorwatch offsets --group efd-loader; "
    "mirrorwatch offsets --all-groups --reset-file groups.csv; "
    f"mirrorwatch offsets --group efd-loader --at {EXAMPLE}; "
    "mirrorwatch offsets --all-groups --planned --json",
)
@config_option
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="A consumer group; may be given several times.",
)
@click.option("--all-groups", is_flag=True, help="All groups that are known.")
@flows_option
@click.option(
    "--at",
    "at",
    type=TIME,
    metavar="TIME",
    help="Compare with a start at this time, and use that where nothing else "
    f"is known: a time with its zone, such as {EXAMPLE}.",
)
@click.option(
    "--reset-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the offsets for kafka-consumer-groups --reset-offsets "
    "--from-file: with the group in each line unless --group is given once.",
)
@click.option(
    "--planned",
    is_flag=True,
    help="For a planned switch: show which partitions are drained.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    config: Config,
    groups: tuple[str, ...],
    names: tuple[str, ...],
    *,
    at: datetime | None,
    reset_file: Path | None,
    all_groups: bool,
    planned: bool,
    as_json: bool,
) -> None:
    """Show where consumer groups start at the target.

    The state file of the agent is enough, so the source may be lost. The
    target is asked for its ends, and for offsets at a time. Exit status 3 if
    a group has no start in some partition, or one that may miss records: so
    does each while the target does not answer. With --planned also if it is
    not known what is left to copy.
    """
    if bool(groups) == all_groups:
        raise click.UsageError("Use either --group or --all-groups.")
    flows = choose_flows(config, names)
    if reset_file is not None and len({f.target for f in flows}) > 1:
        raise click.UsageError(
            "--reset-file is for one target cluster: choose flows by --flow."
        )
    database = Database(config.state.path, beside=True)
    try:
        kept = [_Kept.load(database, flow.name, groups) for flow in flows]
    finally:
        database.close()
    known = {group.group for each in kept for group in each.groups}
    if unknown := [name for name in groups if name not in known]:
        raise MirrorwatchError(
            f"Nothing is known of group {unknown[0]}: it has committed no "
            "offset in a topic that is replicated, or mirrorwatch lacks "
            "DESCRIBE on it at the source, or has not run since it did"
        )
    found = [
        _translate(config, flow, each, at, planned=planned)
        for flow, each in zip(flows, kept, strict=True)
        if each.groups
    ]
    if reset_file is not None:
        with_group = len(groups) != 1
        _write(reset_file, _to_csv(found, with_group=with_group))
    now = utc_now()
    if as_json:
        click.echo(json.dumps(_document(found, now), indent=2))
    else:
        console = Console(highlight=False)
        for flow in found:
            _print(flow, now, console, planned=planned)
        if not known:
            console.print("No consumer group is known.")
    starts = (s.chosen for f in found for g in f.groups for s in g.starts)
    is_unsafe = any(start is None or start.missed != 0 for start in starts)
    left = (left for f in found for left in f.left.values())
    if is_unsafe or any(count is None for count in left):
        ctx.exit(EXIT_UNTRANSLATED)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as e:
        raise MirrorwatchError(f"Cannot write {file}: {e.strerror}") from e


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """Saved state of one flow, from the state file."""

    groups: Sequence[GroupState]
    copies: Mapping[TopicPartition, CopiedPartition]
    """With the ends of both logs, as last read."""

    positions: Mapping[TopicPartition, int]
    """Next source offset that may be copied, as far as it is proved."""

    @classmethod
    def load(
        cls, database: Database, flow: str, wanted: Sequence[str]
    ) -> "_Kept":
        tracker = CopiesStore(database, flow).load()
        groups = GroupStore(database, flow).load()
        places = PositionStore(database, flow).load().places
        copies = {
            key: CopiedPartition.of(
                pair, is_transactional=tracker.is_transactional
            )
            for key, pair in tracker.pairs.items()
        }
        for key, end in SourceEndStore(database, flow).load().ends.items():
            known = copies.get(key, CopiedPartition())
            copies[key] = replace(known, source_end=end)
        return cls(
            groups=[
                group
                for name, group in groups.items()
                if not wanted or name in wanted
            ],
            copies=copies,
            positions={
                key: max(
                    places.get(key, NO_POSITION).committed or 0,
                    tracker.pairs[key].passed if key in tracker.pairs else 0,
                )
                for key in places.keys() | tracker.pairs.keys()
            },
        )


NO_POSITION = PartitionPosition()


@dataclass(frozen=True, kw_only=True)
class _Group:
    group: str
    read_at: datetime | None
    starts: Sequence[Start]


@dataclass(frozen=True, kw_only=True)
class _Flow:
    name: str
    source: str
    target: str
    remote: Mapping[str, str]
    groups: Sequence[_Group]
    left: Mapping[TopicPartition, int | None]
    """Source offsets not yet copied, with ``--planned``; `None` where the
    source does not say."""

    problems: Sequence[str] = field(default_factory=tuple)


def _translate(
    config: Config,
    flow: FlowConfig,
    kept: _Kept,
    at: datetime | None,
    *,
    planned: bool,
) -> _Flow:
    places = {(o.topic, o.partition) for g in kept.groups for o in g.offsets}
    remote = {t: flow.topic_naming.remote(t) for t, _ in places}
    asked = _Ends.ask(
        config,
        flow,
        remote,
        {place: kept.positions.get(place, 0) for place in places},
        at,
        planned=planned,
    )
    merged = Selection(include=flow.topics.merged).matches
    copied: dict[TopicPartition, CopiedPartition] = {}
    left: dict[TopicPartition, int | None] = {}
    for place in places:
        position = kept.positions.get(place, 0)
        found = replace(
            kept.copies.get(place, CopiedPartition()),
            start=asked.target_starts.get(place),
            end=asked.target.get(place),
            absent=place in asked.absent,
            source_start=asked.source_starts.get(place),
            at_time=asked.at_time.get(place),
        )
        if merged(place[0]):
            found = replace(found, coverage=None)
        if place in asked.source:
            end = position if place in asked.empty else asked.source[place]
            found = replace(found, source_end=end)
            if found.end is not None:
                found = replace(found, ends=OffsetPair(found.end, end))
            known = found.known
            if known is not None:
                position = max(position, known.next.source)
            left[place] = max(0, end - position)
        else:
            left[place] = None
        copied[place] = found
    return _Flow(
        name=flow.name,
        source=flow.source,
        target=flow.target,
        remote=remote,
        groups=[
            _Group(
                group=group.group,
                read_at=group.read_at,
                starts=[
                    translate(o, copied[o.topic, o.partition])
                    for o in group.offsets
                ],
            )
            for group in kept.groups
        ],
        left=left if planned else {},
        problems=asked.problems,
    )


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """Log offsets from both clusters, by source partition."""

    source: Mapping[TopicPartition, int] = field(default_factory=dict)
    target: Mapping[TopicPartition, int] = field(default_factory=dict)
    target_starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    absent: AbstractSet[TopicPartition] = frozenset()
    source_starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    at_time: Mapping[TopicPartition, int] = field(default_factory=dict)
    empty: AbstractSet[TopicPartition] = frozenset()
    """Source partitions where no record follows the position: only markers of
    transactions, or what was compacted."""

    problems: Sequence[str] = ()

    @classmethod
    def ask(
        cls,
        config: Config,
        flow: FlowConfig,
        remote: Mapping[str, str],
        positions: Mapping[TopicPartition, int],
        at: datetime | None,
        *,
        planned: bool,
    ) -> "_Ends":
        """Ask the target, then the source: see `FlowView`."""
        copies = {(remote[topic], p): (topic, p) for topic, p in positions}
        problems: list[str] = []
        target: dict[TopicPartition, int] = {}
        starts: dict[TopicPartition, int] = {}
        source_starts: dict[TopicPartition, int] = {}
        times: dict[TopicPartition, int] = {}
        source: dict[TopicPartition, int] = {}
        empty: set[TopicPartition] = set()
        absent: set[TopicPartition] = set()
        try:
            cluster = _cluster(config, flow.target)
            there = _existing(cluster, copies)
            absent = {copies[key] for key in copies.keys() - set(there)}
            ends = read_ends(cluster, there)
            target = {copies[key]: end for key, end in ends.items()}
            starts = {
                copies[key]: start
                for key, start in read_starts(cluster, ends).items()
            }
            if at is not None:
                firsts = find_first_since(cluster, dict.fromkeys(ends, at))
                times = {
                    copies[key]: ends[key] if first is None else first
                    for key, first in firsts.items()
                }
        except SourceError as e:
            problems.append(
                f"{e}. Ends of {flow.target} are not compared: whether a "
                "start misses records is not known. Run it again once "
                f"{flow.target} answers"
            )
        if planned:
            try:
                cluster = _cluster(config, flow.source)
                source = read_ends(
                    cluster, _existing(cluster, copies.values())
                )
                source_starts = read_starts(cluster, source)
                reader = RangeReader(
                    dict(config.clusters[flow.source].kafka), flow.source
                )
                empty = reader.find_empty(
                    (place, OffsetRange(positions[place], end))
                    for place, end in source.items()
                )
            except SourceError as e:
                problems.append(f"{e}. It is not known what is left to copy")
        return cls(
            source=source,
            target=target,
            target_starts=starts,
            absent=absent,
            source_starts=source_starts,
            at_time=times,
            empty=empty,
            problems=problems,
        )


def _cluster(config: Config, alias: str) -> Cluster:
    return Cluster(alias, dict(config.clusters[alias].kafka))


def _existing(
    cluster: Cluster, places: Iterable[TopicPartition]
) -> list[TopicPartition]:
    listed = list_topics(cluster).partitions
    return [(topic, p) for topic, p in places if p < listed.get(topic, 0)]


def _to_csv(flows: Iterable[_Flow], *, with_group: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for flow in flows:
        for group in flow.groups:
            for start in group.starts:
                if start.chosen is None:
                    continue
                place = start.place
                writer.writerow(
                    [
                        *([group.group] if with_group else []),
                        flow.remote[place.topic],
                        place.partition,
                        start.chosen.offset,
                    ]
                )
    return text.getvalue()


def _document(flows: Sequence[_Flow], now: datetime) -> dict[str, Any]:
    return {
        "at": now.isoformat(),
        "groups": [
            {
                "flow": flow.name,
                "group": group.group,
                "read_at": group.read_at and group.read_at.isoformat(),
                "partitions": [_partition(flow, s) for s in group.starts],
            }
            for flow in flows
            for group in flow.groups
        ],
        "problems": [p for flow in flows for p in flow.problems],
    }


def _partition(flow: _Flow, start: Start) -> dict[str, Any]:
    place = start.place
    found: dict[str, Any] = {
        "topic": place.topic,
        "target_topic": flow.remote[place.topic],
        "partition": place.partition,
        "committed": place.committed,
        **_start(start.chosen),
        "problem": start.problem,
        "others": [_start(other) for other in start.others],
    }
    key = place.topic, place.partition
    if key in flow.left:
        left = flow.left[key]
        found |= {"drained": None if left is None else left == 0, "left": left}
    return found


def _start(start: StartOffset | None) -> dict[str, Any]:
    return {
        "offset": start and start.offset,
        "by": start and str(start.by),
        "repeated": start and start.repeated,
        "missed": start and start.missed,
        "exact": start and start.exact,
        "why": start and start.why,
    }


def _print(
    flow: _Flow, now: datetime, console: Console, *, planned: bool
) -> None:
    for problem in flow.problems:
        console.print(Text(f"! {plain(problem)}", style="bold yellow"))
    for group in flow.groups:
        console.print(
            Text.assemble(
                (plain(group.group), "bold"),
                plain(f"  {flow.source} → {flow.target}"),
                *_age(flow, group, now),
            )
        )
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        titles = ("  topic", "source", "start", "by", "repeated", "missed")
        for title in (*titles, *(["left"] if planned else [])):
            table.add_column(title, header_style="dim", no_wrap=True)
        table.add_column("why", header_style="dim", overflow="fold")
        for start in group.starts:
            table.add_row(*_row(flow, start, planned=planned))
        console.print(table)
        console.print()


def _age(
    flow: _Flow, group: _Group, now: datetime
) -> Iterator[tuple[str, str]]:
    if group.read_at is None:
        yield f"  never read at {plain(flow.source)}", "bold yellow"
    elif now - group.read_at > OLD:
        age = seconds(now - group.read_at)
        text = (
            f"  as of {group.read_at:%Y-%m-%d %H:%M:%S} UTC, {age} ago: what "
            "it read since is read again, too"
        )
        yield text, "bold yellow"


def _row(flow: _Flow, start: Start, *, planned: bool) -> Iterator[Text]:
    place, chosen = start.place, start.chosen
    yield Text(plain(f"  {flow.remote[place.topic]}[{place.partition}]"))
    yield Text("?" if place.committed is None else str(place.committed))
    if chosen is None:
        yield from (Text("-", style="bold red"),) * 4
    else:
        yield Text(str(chosen.offset), style="bold")
        yield Text(str(chosen.by))
        yield Text(_count(chosen.repeated, exact=chosen.exact))
        yield Text(_count(chosen.missed, exact=chosen.exact))
    if planned:
        left = flow.left.get((place.topic, place.partition))
        text = "?" if left is None else str(left) if left else "drained"
        yield Text(text)
    why = [start.problem or "", chosen.why if chosen else ""]
    why += [_describe(other) for other in start.others]
    yield Text(plain(". ".join(part for part in why if part)), style="dim")


def _describe(other: StartOffset) -> str:
    repeated = _count(other.repeated, exact=other.exact)
    missed = _count(other.missed, exact=other.exact)
    return (
        f"By {other.by}: {other.offset}, {repeated} repeated, {missed} missed"
    )


def _count(records: int | None, *, exact: bool) -> str:
    if records is None:
        return "?"
    return str(records) if exact or not records else f"≤ {records}"
