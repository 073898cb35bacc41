"""What was read of both sides, joined."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast

import pytest

from mirrorwatch.audit import planner
from mirrorwatch.audit.mirror import MirrorReader
from mirrorwatch.audit.offsets import AuditedSites, Offsets, freeze_offsets
from mirrorwatch.audit.planner import AuditedTopics, join_offsets
from mirrorwatch.config import Config, FlowConfig
from mirrorwatch.domain.audit.facts import Log, PairedLogs, SourceLog
from mirrorwatch.domain.audit.plan import (
    AuditedEnd,
    AuditedEnds,
    AuditSpan,
    CopyProfile,
    Plan,
    Request,
    SharedTopic,
    Unverifiable,
)
from mirrorwatch.domain.cluster_view import (
    TopicConfigs,
    TopicFacts,
    TopicPartition,
)
from mirrorwatch.domain.mirror_records import Sync
from mirrorwatch.domain.topics import ReplicatedTopics
from mirrorwatch.exceptions import AuditError
from mirrorwatch.sources.mirror_state import MirrorState
from tests.support.builders import NOON
from tests.support.logs import make_pair, make_plan

PARTITION = ("t", 0)
HERE, THERE = ("summit", PARTITION), ("ldf", PARTITION)
KEY = (HERE, False)

PAIR = PairedLogs(
    flow="f",
    topic="t",
    cluster="ldf",
    topic_partition=PARTITION,
    sources=(
        SourceLog(
            flow="f",
            log=Log(
                side="source",
                cluster="summit",
                topic_partition=PARTITION,
                topic_id="here",
            ),
        ),
    ),
    target=Log(
        side="target",
        cluster="ldf",
        topic_partition=PARTITION,
        topic_id="there",
    ),
)

OFFSETS = Offsets(
    starts={HERE: 2, THERE: 1},
    sources={KEY: 10},
    targets={THERE: 9},
    later={KEY: 12},
    unsure=frozenset(),
)

END = AuditedEnd(
    flow="f",
    topic="t",
    partition=0,
    source_end=5,
    target_end=5,
    source_id="here",
    target_id="there",
    cut_at=NOON,
)


@dataclass
class FakeMirror:
    known: int | None = 10
    known_syncs: tuple[tuple[int, int], ...] = ((5, 4), (9, 8))
    read_committed: bool | None = False
    starts_at_end: bool | None = False
    asked: list[str] = field(default_factory=list)
    floors: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def read_positions(self, floors: Mapping[tuple[str, int], int]) -> None:
        self.asked.append("positions")
        self.floors = floors

    def position(self, partition: tuple[str, int]) -> int | None:
        assert partition == PARTITION
        return self.known

    def syncs(self, partition: tuple[str, int]) -> tuple[tuple[int, int], ...]:
        assert partition == PARTITION
        return self.known_syncs


@dataclass
class Joined:
    """What comes of one pair."""

    mirror: FakeMirror = field(default_factory=FakeMirror)
    offsets: Offsets = OFFSETS
    end: AuditedEnd | None = END
    configs: dict[tuple[str, str], TopicConfigs] = field(default_factory=dict)

    def all(self) -> tuple[list[PairedLogs], list[Unverifiable]]:
        topics = AuditedTopics(pairs=[PAIR], configs=self.configs)
        ends = {} if self.end is None else {self.end.key: self.end}
        return join_offsets(topics, self.offsets, {"f": self.mirror}, ends)

    def pair(self) -> PairedLogs:
        (pair,), gaps = self.all()
        assert gaps == []
        return pair


def test_both_sides_are_joined() -> None:
    pair = Joined().pair()
    (source,) = pair.sources
    assert (source.log.retained, source.position) == (AuditSpan(2, 10), 10)
    assert source.syncs == ((5, 4), (9, 8))
    assert not source.steady
    assert source.later_end == 12
    assert pair.target is not None
    assert pair.target.retained == AuditSpan(1, 9)
    assert pair.timestamps
    assert not pair.compacted


def test_a_source_rests_whose_end_stays() -> None:
    offsets = replace(OFFSETS, later={KEY: 10})
    assert Joined(offsets=offsets).pair().sources[0].steady


@pytest.mark.parametrize("position", [13, None])
def test_a_position_above_the_end_is_of_another_topic(
    position: int | None,
) -> None:
    pair = Joined(mirror=FakeMirror(known=position)).pair()
    assert pair.sources[0].position is None


def test_what_was_said_of_a_topic_that_was_recreated_is_void() -> None:
    (source,) = Joined(end=replace(END, source_id="before")).pair().sources
    assert (source.position, source.syncs) == (None, ())
    (source,) = Joined(end=replace(END, target_id="before")).pair().sources
    assert (source.position, source.syncs) == (10, ())


@pytest.mark.parametrize("sync", [(12, 8), (9, 9)])
def test_syncs_above_an_end_are_of_another_topic(
    sync: tuple[int, int],
) -> None:
    mirror = FakeMirror(known_syncs=((5, 4), sync))
    assert Joined(mirror=mirror).pair().sources[0].syncs == ()


def test_a_position_proves_nothing_where_the_target_is_behind_it() -> None:
    offsets = replace(OFFSETS, unsure=frozenset({THERE}))
    assert Joined(offsets=offsets).pair().sources[0].position is None


@pytest.mark.parametrize(
    "offsets",
    [
        replace(OFFSETS, starts={}),
        replace(OFFSETS, sources={}),
        replace(OFFSETS, targets={}),
        replace(OFFSETS, later={}),
    ],
)
def test_a_partition_without_a_leader_is_unverifiable(
    offsets: Offsets,
) -> None:
    pairs, (gap,) = Joined(offsets=offsets).all()
    assert pairs == []
    assert "no leader" in gap.reason


def test_configurations_of_either_side_count() -> None:
    compact = TopicConfigs(cleanup_policy=frozenset({"compact"}))
    appended = TopicConfigs(timestamp_type="LogAppendTime")
    assert Joined(configs={("summit", "t"): compact}).pair().compacted
    assert Joined(configs={("ldf", "t"): compact}).pair().compacted
    assert not Joined(configs={("ldf", "t"): appended}).pair().timestamps
    # What the source puts on records is copied as it is.
    assert Joined(configs={("summit", "t"): appended}).pair().timestamps


def test_what_expires_when_is_known_of_both_sides() -> None:
    a_day = TopicConfigs(retention_ms=86_400_000, retention_bytes=-1)
    pair = Joined(configs={("summit", "t"): a_day}).pair()
    retention = pair.sources[0].log.retention
    assert retention.kept_since(NOON, NOON + timedelta(hours=23))
    assert not retention.kept_since(NOON, NOON + timedelta(hours=25))
    assert pair.target is not None
    assert not pair.target.retention.kept_since(NOON, NOON)


@dataclass
class FakeSite:
    name: str
    asked: list[str]
    open_reads: int = 0

    def ends(
        self, partitions: Iterable[tuple[str, int]], *, read_committed: bool
    ) -> Mapping[tuple[str, int], int]:
        level = "committed" if read_committed else "all"
        self.asked.append(f"{self.name} {level}")
        end = 10
        if read_committed and self.open_reads:
            self.open_reads -= 1
            end = 7
        return dict.fromkeys(partitions, end)

    def starts(
        self, partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[str, int], int]:
        return dict.fromkeys(partitions, 3)


def an_end(source_end: int) -> AuditedEnd:
    return AuditedEnd(
        flow="f",
        topic="t",
        partition=0,
        source_end=source_end,
        target_end=0,
        source_id="here",
        target_id="there",
        cut_at=NOON,
    )


def test_positions_are_read_between_the_ends_of_both_sides() -> None:
    asked: list[str] = []
    sites = {name: FakeSite(name, asked) for name in ("summit", "ldf")}
    mirror = FakeMirror(asked=asked)
    found = freeze_offsets([PAIR], {"f": mirror}, sites, {})
    assert asked == [
        *("summit all", "positions"),
        *("ldf all", "ldf committed", "summit all"),
    ]
    assert found.starts == {("summit", PARTITION): 3, ("ldf", PARTITION): 3}
    assert found.unsure == frozenset()


def test_syncs_are_wanted_from_where_it_was_audited_up_to() -> None:
    sites = {name: FakeSite(name, []) for name in ("summit", "ldf")}
    for source_end, floor in ((2, 3), (5, 5)):
        mirror, end = FakeMirror(), an_end(source_end)
        freeze_offsets([PAIR], {"f": mirror}, sites, {end.key: end})
        assert mirror.floors == {PARTITION: floor}


def test_the_markers_of_an_exactly_once_mirror_are_waited_for() -> None:
    asked: list[str] = []
    sites = {"summit": FakeSite("summit", asked)}
    sites["ldf"] = FakeSite("ldf", asked, open_reads=2)
    mirror = FakeMirror(asked=asked, read_committed=True)
    found = freeze_offsets([PAIR], {"f": mirror}, sites, {})
    assert asked == [
        "summit committed",
        "positions",
        "ldf all",
        *["ldf committed"] * 3,
        "summit committed",
    ]
    assert found.targets == {("ldf", PARTITION): 10}
    assert found.unsure == frozenset()


def test_a_transaction_that_stays_open_leaves_positions_unproved() -> None:
    sites = {"summit": FakeSite("summit", [])}
    sites["ldf"] = FakeSite("ldf", [], open_reads=1000)
    mirror = FakeMirror(read_committed=True)
    found = freeze_offsets(
        [PAIR],
        {"f": mirror},
        sites,
        {},
        markers=timedelta(milliseconds=400),
    )
    assert found.targets == {("ldf", PARTITION): 7}
    assert found.unsure == {("ldf", PARTITION)}


@dataclass
class LogsNow:
    """A cluster after everything was read."""

    start: int | None = 0
    end: int | None = 10
    id: str = ""
    topic: str = "a"

    def starts(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return (
            {} if self.start is None else dict.fromkeys(partitions, self.start)
        )

    def ends(
        self, partitions: Iterable[TopicPartition], *, read_committed: bool
    ) -> dict[TopicPartition, int]:
        return {} if self.end is None else dict.fromkeys(partitions, self.end)

    def describe(self) -> "LogsNow":
        return self

    @property
    def topics(self) -> dict[str, TopicFacts]:
        facts = TopicFacts(id=self.id, partitions=1, replication_factor=1)
        return {self.topic: facts}


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (LogsNow(), None),
        (LogsNow(end=11), None),
        (LogsNow(start=1), "expired"),
        (LogsNow(end=9), "truncated"),
        (LogsNow(start=None), "leader"),
        (LogsNow(end=None), "leader"),
        (LogsNow(id="another"), "deleted"),
    ],
)
def test_what_is_no_longer_there_at_both_ends_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    side: str,
    now: LogsNow,
    reason: str | None,
) -> None:
    there = {"summit": LogsNow(), "ldf": LogsNow()}
    there["summit" if side == "source" else "ldf"] = now
    monkeypatch.setattr(planner, "AuditedSites", lambda _: nullcontext(there))
    plan = make_plan(make_pair((0, 10), (0, 10)))
    config = Config.model_construct(clusters={}, flows=())
    rest, gone = planner.recheck(config, plan, sleep=lambda _: None)
    gaps = (*rest.unverifiable, *gone)
    # What has no leader is left to the next night.
    assert rest.pairs == (() if reason == "leader" else plan.pairs)
    assert [reason is not None and reason in gap.reason for gap in gaps] == (
        [] if reason is None else [True]
    )
    assert all(side in gap.reason for gap in gaps)


class LogsLater:
    """Clusters that change while they are asked again."""

    def __init__(self, **now: LogsNow) -> None:
        self.sites = {"summit": LogsNow(), "ldf": LogsNow()} | now
        self.later: dict[int, dict[str, LogsNow]] = {}
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.sites |= self.later.get(len(self.waited), {})

    def recheck(
        self, plan: Plan, monkeypatch: pytest.MonkeyPatch
    ) -> tuple[Plan, list[str]]:
        sites = nullcontext(self.sites)
        monkeypatch.setattr(planner, "AuditedSites", lambda _: sites)
        config = Config.model_construct(clusters={}, flows=())
        rest, gone = planner.recheck(config, plan, sleep=self.sleep)
        return rest, [gap.reason for gap in gone]


MISSING = [LogsNow(end=None), LogsNow(start=None), LogsNow(topic="other")]


@pytest.mark.parametrize("alias", ["summit", "ldf"])
@pytest.mark.parametrize("missing", MISSING)
def test_what_was_missing_for_a_moment_is_there(
    monkeypatch: pytest.MonkeyPatch, alias: str, missing: LogsNow
) -> None:
    logs = LogsLater(**{alias: missing})
    logs.later[2] = {alias: LogsNow()}
    plan = make_plan(make_pair((0, 10), (0, 10)))
    rest, gone = logs.recheck(plan, monkeypatch)
    assert rest is plan
    assert gone == []
    assert len(logs.waited) == 2


def test_what_stays_missing_is_asked_for_during_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = replace(make_plan(make_pair((0, 10), (0, 10))), more=True)
    logs = LogsLater(ldf=LogsNow(topic="other"))
    # There is nothing to audit any more.
    rest, gone = logs.recheck(plan, monkeypatch)
    assert rest is plan
    assert gone == ["the topic at the target was deleted during the audit"]
    assert sum(logs.waited) == 60

    logs = LogsLater(ldf=LogsNow(end=None))
    rest, gone = logs.recheck(plan, monkeypatch)
    assert (rest.pairs, rest.more, gone) == ((), False, [])
    (gap,) = rest.unverifiable
    assert gap.reason == (
        "a partition at the target lost its leader during the audit"
    )
    assert sum(logs.waited) == 60


def test_a_topic_of_which_one_partition_has_no_leader_is_left_out_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its copies may be in any of them."""
    copies = CopyProfile(partitions=False)
    empty = make_pair((0, 0), (0, 0), partition=1, copies=copies)
    plan = make_plan(make_pair((0, 10), (0, 10), copies=copies), empty)
    rest, gone = LogsLater(summit=LogsNow(end=None)).recheck(plan, monkeypatch)
    assert (rest.pairs, gone) == ((), [])
    assert {gap.partition for gap in rest.unverifiable} == {None}


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (LogsNow(end=9), "the log at the target was truncated"),
        (LogsNow(start=1), "expired at the target"),
        (LogsNow(id="other"), "the topic at the target was deleted"),
    ],
)
def test_what_was_seen_once_holds_whatever_comes_back(
    monkeypatch: pytest.MonkeyPatch, now: LogsNow, reason: str
) -> None:
    """A truncated log may have grown by then."""
    logs = LogsLater(summit=LogsNow(end=None), ldf=now)
    logs.later[1] = {"summit": LogsNow(), "ldf": LogsNow()}
    plan = make_plan(make_pair((0, 10), (0, 10)))
    rest, gone = logs.recheck(plan, monkeypatch)
    assert rest is plan
    assert gone == [f"{reason} during the audit"]
    # Nothing is asked for again but what is missing.
    alone = LogsLater(ldf=now)
    assert alone.recheck(plan, monkeypatch)[1] == gone
    assert alone.waited == []


@pytest.mark.parametrize(
    ("upstream", "downstream", "after", "is_found"),
    [
        # What was written after the freeze lies where another copy was.
        (12, 8, 0, True),
        (15, 9, 60, True),
        # Behind what was compared, or behind the end that the target had.
        (12, 10, 0, False),
        (12, 13, 60, False),
        # Another record that was there at the freeze: the mirror was rewound,
        # or is late to say so.
        (11, 8, 60, False),
        # Of topics that were there before.
        (12, 8, -1, False),
    ],
)
def test_a_target_that_was_truncated_and_has_grown_since_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    upstream: int,
    downstream: int,
    after: int,
    is_found: bool,
) -> None:
    # It was judged, and clean if it was truncated after it had been read.
    sync = Sync(
        topic="a",
        partition=0,
        upstream=upstream,
        downstream=downstream,
        written_at=NOON + timedelta(seconds=after),
    )
    there = {"summit": LogsNow(end=30), "ldf": LogsNow(end=30)}
    monkeypatch.setattr(planner, "AuditedSites", lambda _: nullcontext(there))
    monkeypatch.setattr(MirrorReader, "read_syncs", lambda _: iter([sync]))
    pair = make_pair((0, 10), (0, 10), retained=((0, 12), (0, 11)))
    plan = replace(make_plan(pair), at=NOON)
    config = Config.model_validate(
        {
            "clusters": {
                alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
                for alias in ("summit", "ldf")
            },
            "flows": [{"source": "summit", "target": "ldf"}],
        }
    )
    assert pair.flow == config.flows[0].name
    _, gaps = planner.recheck(config, plan)
    assert [gap.reason for gap in gaps] == [
        "the log at the target was truncated during the audit"
    ] * is_found


def test_what_is_gone_of_a_merged_topic_is_gone_for_all_its_flows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was found of one of them would else stand."""
    there = {"summit": LogsNow(), "ldf": LogsNow(id="another")}
    monkeypatch.setattr(planner, "AuditedSites", lambda _: nullcontext(there))
    pair = make_pair((0, 10), (0, 10))
    (one,) = pair.sources
    merged = replace(pair, sources=(one, replace(one, flow="other")))
    config = Config.model_construct(clusters={}, flows=())
    _, gaps = planner.recheck(config, make_plan(merged))
    assert [(gap.flow, gap.topic) for gap in gaps] == [
        (pair.flow, "a"),
        ("other", "a"),
    ]


@dataclass
class Copied:
    """A mirror of which only what it copies is asked."""

    flow: FlowConfig
    replicated: ReplicatedTopics
    positions: MirrorState = field(default_factory=MirrorState)
    read_committed: bool | None = False


class TopicsNow(LogsNow):
    def hidden(self, topics: Iterable[str]) -> set[str]:
        return set()

    def configs(
        self, topics: Iterable[str]
    ) -> tuple[dict[str, TopicConfigs], list[str]]:
        return {}, list(topics)


@pytest.mark.parametrize(
    ("level", "told"), [(False, "DESCRIBE_CONFIGS"), (None, "isolation_level")]
)
def test_a_merged_topic_is_told_of_all_its_flows_if_it_is_left_out(
    level: bool | None, told: str
) -> None:
    """Its configuration may not be read, or how a mirror of it reads."""
    flows = [
        {
            "source": source,
            "target": "hub",
            "naming": "identity",
            "topics": {"merged": [".*"]},
            "mirror": {},
        }
        for source in "ab"
    ]
    config = Config.from_mapping(
        {
            "clusters": {
                alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}}
                for alias in ("a", "b", "hub")
            },
            "flows": flows,
        }
    )
    sites = {alias: TopicsNow() for alias in config.clusters}
    mirrors = {
        flow.name: Copied(
            flow=flow,
            replicated=ReplicatedTopics(
                selection=flow.selection,
                naming=flow.topic_naming,
                target_alias="hub",
            ),
            read_committed=level if flow.source == "b" else False,
        )
        for flow in config.flows
    }
    found = planner.find_topics(
        config,
        Request(),
        AuditedEnds(),
        cast("AuditedSites", sites),
        cast("Mapping[str, MirrorReader]", mirrors),
    )
    assert found.pairs == []
    (gap,) = found.unverifiable
    assert told in gap.reason
    assert found.shared == (
        SharedTopic(flow="b->hub", reported_under="a->hub", topic="a"),
    )


class Readable(TopicsNow):
    def configs(
        self, topics: Iterable[str]
    ) -> tuple[dict[str, TopicConfigs], list[str]]:
        return dict.fromkeys(topics, TopicConfigs()), []


@pytest.mark.parametrize(
    ("registry", "known"),
    [({}, False), ({"topic": "a"}, True), ({"topic": "b"}, False)],
)
def test_the_own_topic_of_a_registry_is_known(
    *, registry: dict[str, str], known: bool
) -> None:
    kafka = {"bootstrap.servers": "b:9092"}
    url = {"url": "http://registry:8081"}
    config = Config.from_mapping(
        {
            "clusters": {
                "a": {"kafka": kafka, "schema_registry": url | registry},
                "hub": {"kafka": kafka},
            },
            "flows": [{"source": "a", "target": "hub", "mirror": {}}],
        }
    )
    (flow,) = config.flows
    replicated = ReplicatedTopics(
        selection=flow.selection,
        naming=flow.topic_naming,
        target_alias="hub",
    )
    found = planner.find_topics(
        config,
        Request(),
        AuditedEnds(),
        cast("AuditedSites", {alias: Readable() for alias in ("a", "hub")}),
        cast(
            "Mapping[str, MirrorReader]",
            {flow.name: Copied(flow=flow, replicated=replicated)},
        ),
    )
    assert found.pairs
    assert {pair.copies.registry for pair in found.pairs} == {known}


@pytest.mark.parametrize("ends", [AuditedEnds(), AuditedEnds((END,))])
def test_a_night_of_no_topic_at_all_is_refused(
    monkeypatch: pytest.MonkeyPatch, ends: AuditedEnds
) -> None:
    """It would be clean, of others that were audited before."""
    monkeypatch.setattr(planner, "AuditedSites", lambda _: nullcontext({}))
    config = Config.model_construct(clusters={}, flows=(), audit=None)
    request = Request(topics="evnets")
    with pytest.raises(AuditError, match="no topic that is carried and"):
        planner.freeze(config, request, ends, clock=lambda: NOON)


def test_a_topic_that_was_deleted_is_told_once() -> None:
    flow = {"source": "a", "target": "hub", "mirror": {}}
    config = Config.from_mapping(
        {
            "clusters": {
                alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}}
                for alias in ("a", "hub")
            },
            "flows": [flow],
        }
    )
    (known,) = config.flows
    copied = Copied(
        flow=known,
        replicated=ReplicatedTopics(
            selection=known.selection,
            naming=known.topic_naming,
            target_alias="hub",
        ),
    )
    deleted = replace(END, flow=known.name, topic="deleted")
    for end, told in ((deleted, 1), (replace(deleted, source_id=""), 0)):
        found = planner.find_topics(
            config,
            Request(topics="deleted"),
            AuditedEnds((end,)),
            cast("AuditedSites", {a: TopicsNow() for a in ("a", "hub")}),
            cast("Mapping[str, MirrorReader]", {known.name: copied}),
        )
        assert len(found.gone) == len(found.unverifiable) == told
