"""The whole configuration: flows, their limits, and the rules between them."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from ..domain.audit.check import AuditLimits
from ..domain.audit.plan import CopyProfile
from ..domain.bottleneck.check import BottleneckLimits
from ..domain.canary.check import CanaryLimits
from ..domain.canary.model import UNKNOWN_REQUEST_BYTES
from ..domain.checks import MIRROR, OFF, FlowLimits
from ..domain.failover.check import FailoverLimits
from ..domain.heartbeats import HeartbeatsLimits
from ..domain.lag.check import LagLimits
from ..domain.lag.retention import RetentionLimits
from ..domain.latency import LatencyLimits
from ..domain.mirror_kinds import KINDS
from ..domain.parity.configs import ConfigsLimits
from ..domain.parity.topics import TopicsLimits
from ..domain.patterns import LONGEST_NAME, NAME_CHARACTERS
from ..domain.position.check import PositionLimits
from ..domain.readers.check import ReadersLimits
from ..domain.report import Flow
from ..domain.schemas.check import SchemasLimits
from ..domain.skips.check import SkipsLimits
from ..domain.tasks.check import TasksLimits
from ..domain.topics import (
    HEARTBEATS,
    FilteredRule,
    FilteredTopics,
    IdentityNaming,
    Naming,
    Selection,
    is_internal,
)
from ..secrets import HIDDEN, may_quote
from .audit import AuditConfig
from .base import (
    FROM_DATACLASS,
    ConfigProblem,
    Document,
    Duration,
    Model,
    ProblemsError,
    Referenced,
    YamlPath,
    find_referenced_files,
    load,
    load_unfollowed,
    read_document,
)
from .canary import CanaryConfig
from .kafka import FILE_KEYS, ClusterConfig
from .mirror import (
    MirrorConfig,
    NamingConfig,
    Pattern,
    ReadersConfig,
    TopicsConfig,
)
from .overlap import CommonTopics, UndecidedError, rename
from .properties import Properties
from .sinks import SinksConfig, StateConfig, WebConfig

__all__ = ["Config", "FlowConfig", "LimitsConfig"]
__all__ += ["find_undecided", "load_mapping"]


class LimitsConfig(Model):
    """Limits of a flow, by check."""

    canary: Annotated[CanaryLimits, FROM_DATACLASS] = Field(
        default_factory=CanaryLimits, title="Canary"
    )
    """Lost, late and duplicated probes."""

    latency: Annotated[LatencyLimits, FROM_DATACLASS] = Field(
        default_factory=LatencyLimits, title="Latency"
    )
    """End-to-end latency of probes."""

    lag: Annotated[LagLimits, FROM_DATACLASS] = Field(
        default_factory=LagLimits, title="Replication lag"
    )
    """Stalled partitions and topics that were never replicated."""

    skips: Annotated[SkipsLimits, FROM_DATACLASS] = Field(
        default_factory=SkipsLimits, title="Skips and duplicates"
    )
    """Skipped and duplicated records."""

    retention: Annotated[RetentionLimits, FROM_DATACLASS] = Field(
        default_factory=RetentionLimits, title="Time to loss"
    )
    """Time until records that are not replicated yet expire."""

    position: Annotated[PositionLimits, FROM_DATACLASS] = Field(
        default_factory=PositionLimits, title="Position resets"
    )
    """Position resets of MirrorMaker."""

    topics: Annotated[TopicsLimits, FROM_DATACLASS] = Field(
        default_factory=TopicsLimits, title="Topics"
    )
    """Missing topics and partitions at the target."""

    configs: Annotated[ConfigsLimits, FROM_DATACLASS] = Field(
        default_factory=ConfigsLimits, title="Topic configs"
    )
    """Topic configs that differ."""

    schemas: Annotated[SchemasLimits, FROM_DATACLASS] = Field(
        default_factory=SchemasLimits, title="Schemas"
    )
    """Schemas that consumers at the target cannot resolve."""

    tasks: Annotated[TasksLimits, FROM_DATACLASS] = Field(
        default_factory=TasksLimits, title="Tasks"
    )
    """Failed, stopped and flapping tasks of MirrorMaker."""

    heartbeats: Annotated[HeartbeatsLimits, FROM_DATACLASS] = Field(
        default_factory=HeartbeatsLimits, title="Heartbeats"
    )
    """Stale heartbeats of MirrorMaker."""

    failover: Annotated[FailoverLimits, FROM_DATACLASS] = Field(
        default_factory=FailoverLimits, title="Failover"
    )
    """Consumer groups that could not go on at the target."""

    readers: Annotated[ReadersLimits, FROM_DATACLASS] = Field(
        default_factory=ReadersLimits, title="Readers"
    )
    """Consumer groups that do not read what arrived at the target."""

    bottleneck: Annotated[BottleneckLimits, FROM_DATACLASS] = Field(
        default_factory=BottleneckLimits, title="Bottleneck"
    )
    """JMX metrics of MirrorMaker."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        problems = []
        for check, key, side in (
            ("latency", "", "at most"),
            ("latency", "_factor", "at most"),
            ("retention", "", "at least"),
            ("retention", "_share", "at least"),
        ):
            limits = getattr(self, check)
            warning = getattr(limits, f"warning{key}")
            critical = getattr(limits, f"critical{key}")
            if (warning > critical and side == "at most") or (
                warning < critical and side == "at least"
            ):
                problems.append(
                    ConfigProblem(
                        (check, f"warning{key}"),
                        f"must be {side} critical{key}, so that the warning "
                        "comes first",
                    )
                )
        if problems:
            raise ProblemsError(problems)
        return self


class FlowConfig(Model):
    """One-way replication of a set of topics by one MirrorMaker."""

    shown_to_all = frozenset({"name"})

    name: str = Field(
        title="Name",
        min_length=1,
        json_schema_extra={"default_text": "`source->target`"},
    )
    """Unique name of the flow. Used as a label in every sink."""

    source: str = Field(title="Source cluster")
    """Alias of the cluster from which records are copied."""

    target: str = Field(title="Target cluster")
    """Alias of the cluster to which records are copied."""

    naming: NamingConfig = Field(
        default_factory=lambda: NamingConfig(policy="default"),
        title="Topic naming",
    )
    """MirrorMaker's replication policy: `identity`, `default`, `{policy:
    default, separator: "_"}` or `{format: "summit.${topic}"}`. The default is
    the mirror's own: `default` for MirrorMaker 2, `identity` for all
    others."""

    topics: TopicsConfig = Field(default_factory=TopicsConfig, title="Topics")
    """Topics that the flow replicates. Use the same filter as MirrorMaker."""

    classes: dict[str, Pattern] = Field(
        default_factory=dict, title="Topic classes"
    )
    """Regex for each class of topics, such as telemetry or commands. The
    status page and the metrics have totals by class."""

    mirror: MirrorConfig = Field(title="MirrorMaker")
    """The MirrorMaker that replicates this flow."""

    canary: CanaryConfig = Field(default_factory=CanaryConfig, title="Canary")
    """Probes that prove that records arrive."""

    readers: ReadersConfig = Field(
        default_factory=ReadersConfig, title="Readers"
    )
    """Consumer groups that read the replicated topics at the target. If none
    is configured, the check `readers` is off."""

    limits: LimitsConfig = Field(default_factory=LimitsConfig, title="Limits")
    """When a check becomes a warning or critical. Every limit has a
    default."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        """Fill in what one key takes from another."""
        if not isinstance(data, dict):
            return data
        data = {k: v for k, v in data.items() if v is not None}
        source, target = data.get("source", ""), data.get("target", "")
        data.setdefault("name", _join(source, target))
        mirror = data.get("mirror", {})
        naming = data.get("naming", _usual_naming(mirror))
        if isinstance(naming, str):
            naming = {"policy": naming}
        elif isinstance(naming, dict) and naming.get("format") is not None:
            naming = {"policy": "format"} | naming
        if isinstance(mirror, dict):
            given = {k: v for k, v in mirror.items() if v is not None}
            mirror = {"source_alias": source, "target_alias": target} | given
        if isinstance(naming, dict) and isinstance(mirror, dict):
            given = {k: v for k, v in naming.items() if v is not None}
            separator = given.get("separator", mirror.get("separator", "."))
            naming = {"separator": separator} | given
            mirror = {"separator": separator} | mirror
        return data | {"naming": naming, "mirror": mirror}

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        problems = []
        if self.naming.separator != self.mirror.separator:
            problems.append(
                ConfigProblem(
                    ("naming", "separator"),
                    "must be the mirror's separator; MirrorMaker 2 has one",
                )
            )
        sized, limit = self.canary.sized, self.mirror.max_request_size
        if sized is not None and sized.bytes > (
            limit or UNKNOWN_REQUEST_BYTES
        ):
            allowed = (
                f"at most {UNKNOWN_REQUEST_BYTES} bytes, as the mirror's "
                "max_request_size is not configured"
                if limit is None
                else f"at most the mirror's max_request_size, {int(limit)}"
            )
            problems.append(
                ConfigProblem(
                    ("canary", "sized", "bytes"), f"must be {allowed}"
                )
            )
        filtered = self.filtered
        probed = self.canary.enabled and filtered.rule(self.canary.topic)
        problems += [
            ConfigProblem(
                ("topics", "filtered", number),
                "must not match canary.topic: a probe that does not arrive is "
                "always reported; (?!...) in front of the regex excludes it",
            )
            for number, rule in enumerate(filtered.rules)
            if rule is probed
        ]
        problems += _check_canary(self)
        problems += _check_names(self)
        if problems:
            raise ProblemsError(problems)
        return self

    @property
    def flow(self) -> Flow:
        """The flow as verdicts and sinks know it."""
        return Flow(name=self.name, source=self.source, target=self.target)

    @property
    def copies(self) -> CopyProfile:
        """What an audit compares of the mirror's copies."""
        return self.mirror.traits.copies.ignoring(self.mirror.added_headers)

    @property
    def topic_naming(self) -> Naming:
        """The policy with the mirror's alias: ``remote()``, ``origin()``."""
        return self.naming.to_naming(
            self.mirror.source_alias,
            has_heartbeats=self.mirror.traits.has_heartbeats,
        )

    @property
    def filtered(self) -> FilteredTopics:
        """The topics that a transform filters on purpose."""
        return FilteredTopics(
            rules=tuple(
                FilteredRule(pattern=each.pattern, at_most=each.at_most)
                for each in self.topics.filtered
            )
        )

    @property
    def selection(self) -> Selection:
        """The topics that the flow carries: ``matches(topic)``."""
        return Selection(
            include=self.topics.include, exclude=self.topics.exclude
        )


def _check_canary(flow: FlowConfig) -> Iterator[ConfigProblem]:
    """Yield what no canary can work with."""
    canary, topics = flow.canary, flow.mirror.topics
    if canary.deadline < canary.interval:
        yield ConfigProblem(
            ("canary", "deadline"),
            "must be at least canary.interval: every probe would be overdue "
            "before the next is sent",
        )
    if (
        canary.sized is not None
        and canary.partitions is not None
        and (canary.sized.partition >= canary.partitions)
    ):
        yield ConfigProblem(
            ("canary", "sized", "partition"),
            "must be below canary.partitions",
        )
    internal = {name for _, name in topics if name is not None}
    if canary.topic in {".", ".."}:
        message = "is no name for Kafka; choose another"
    elif (
        canary.topic in internal
        or is_internal(canary.topic)
        or canary.topic.endswith(HEARTBEATS)
    ):
        message = (
            "is a topic of MirrorMaker's own, or one that it never "
            "replicates; choose another"
        )
    elif len(flow.topic_naming.remote(canary.topic)) > LONGEST_NAME:
        message = f"must have at most {LONGEST_NAME} characters at the target"
    else:
        return
    if canary.enabled:
        yield ConfigProblem(("canary", "topic"), message)


def _check_names(flow: FlowConfig) -> Iterator[ConfigProblem]:
    """Yield what makes names that Kafka would not take."""
    naming = flow.topic_naming
    added = naming.remote("")
    if isinstance(naming, IdentityNaming):
        added = naming.alias + naming.separator
    if set(added) <= set(NAME_CHARACTERS):
        return
    path: YamlPath = ("mirror", "source_alias")
    if flow.naming.policy == "format":
        path = ("naming", "format")
    elif not set(flow.mirror.separator) <= set(NAME_CHARACTERS):
        path = ("mirror", "separator")
    yield ConfigProblem(
        path,
        "makes names of topics that Kafka does not take; allowed are "
        "letters, digits, '.', '_' and '-'",
    )


def _usual_naming(mirror: Any) -> str:
    """Return how a mirror names topics where nobody says it."""
    kind = mirror.get("kind") if isinstance(mirror, dict) else None
    traits = KINDS.get(kind) if isinstance(kind, str) else None
    return "default" if traits is None else traits.naming


def _join(source: Any, target: Any) -> str:
    """Name a flow after its ends; a name made of references is one."""
    name = f"{source}->{target}"
    ends = (source, target)
    referenced = any(isinstance(end, Referenced) for end in ends)
    return Referenced(name) if referenced else name


class Config(Model):
    """The whole configuration, as in `agent/config.example.yaml`."""

    interval: Duration = Field(
        timedelta(seconds=5),
        title="Tick interval",
        ge=timedelta(milliseconds=100),
        le=timedelta(minutes=10),
    )
    """How often all checks are evaluated and reports are published. Short
    enough to alert within seconds, at a negligible cost. Clusters are asked
    as often, but every 30 s at least."""

    clusters: dict[str, ClusterConfig] = Field(title="Clusters", min_length=1)
    """Kafka clusters by alias. The aliases may differ from those of
    MirrorMaker."""

    flows: tuple[FlowConfig, ...] = Field(title="Flows", min_length=1)
    """Replication flows between these clusters."""

    web: WebConfig = Field(default_factory=WebConfig, title="Status page")
    """The status page, the API and `/metrics`."""

    sinks: SinksConfig = Field(default_factory=SinksConfig, title="Sinks")
    """Where reports are sent in addition to the status page and `/metrics`.
    All optional."""

    state: StateConfig = Field(default_factory=StateConfig, title="State")
    """Where the agent keeps its state across restarts."""

    audit: AuditConfig | None = Field(None, title="Nightly audit")
    """The nightly comparison of both clusters. If not configured, the check
    `audit` is off."""

    _document: Document = PrivateAttr(
        default_factory=lambda: Document(name="configuration", data=None)
    )
    _file: Path | None = PrivateAttr(default=None)
    _references: frozenset[Path] = PrivateAttr(default=frozenset())

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the configuration from a YAML file.

        Raises
        ------
        ConfigError
            Raised if it cannot be used. The message has a line for each
            problem, and never a secret.
        """
        document = read_document(path)
        config = load(cls, document, _check_parts)
        config._keep(path, document)  # noqa: SLF001
        return config

    @classmethod
    def from_file_unfollowed(
        cls, path: Path
    ) -> tuple[Self | None, tuple[YamlPath, ...]]:
        """Check what stands in a YAML file, and follow no reference.

        Returns
        -------
        tuple
            The configuration with references as they stand, `None` where it
            cannot be made so; and the paths of these references.

        Raises
        ------
        ConfigError
            Raised if something that stands in the file is wrong.
        """
        document = read_document(path)
        config, unfollowed = load_unfollowed(cls, document, _check_parts)
        if config is not None:
            config._keep(path, document)  # noqa: SLF001
        return config, unfollowed

    def _keep(self, path: Path, document: Document) -> None:
        """Remember which file it was read from."""
        self._file = path
        self._references = frozenset(find_referenced_files(document.data))
        self._document = replace(document, data=None)

    @classmethod
    def from_mapping(
        cls, data: Mapping[str, Any], name: str = "configuration"
    ) -> Self:
        """Make the configuration from what a YAML file would hold.

        Parameters
        ----------
        data
            Nested mappings, as YAML would give them.
        name
            What to call it in errors.

        Raises
        ------
        ConfigError
            Raised if it cannot be used.
        """
        return load(cls, Document(name=name, data=dict(data)), _check_parts)

    @property
    def document(self) -> Document:
        """Where each key stands in the file, for problems found later."""
        return self._document

    @property
    def file(self) -> Path | None:
        """The file it was read from, if it was."""
        return self._file

    @property
    def audit_out(self) -> str:
        """Folder of the audits' results: a path, or a URL for Spark."""
        given = self.audit.out if self.audit else None
        return given or str(self.state.path.with_name("audit"))

    @property
    def audited_flows(self) -> tuple[FlowConfig, ...]:
        """The flows whose records can be compared: not those of mirrors that
        leave no means for it.
        """
        return tuple(
            flow
            for flow in self.flows
            if "audit" not in flow.mirror.traits.off
        )

    @property
    def secret_files(self) -> frozenset[Path]:
        """Files of secrets, keys and certificates that are read at the start.

        Those of the page are not: it reads them again by itself.
        """
        return self._references | frozenset(
            _find_pem_files([self.clusters, self.flows, self.sinks])
        )

    def compares_schemas(self, flow: FlowConfig) -> bool:
        """Return whether both clusters of a flow have a schema registry."""
        return all(
            self.clusters[alias].schema_registry is not None
            for alias in (flow.source, flow.target)
        )

    def to_limits(self, flow: FlowConfig) -> FlowLimits:
        """Return the limits of a flow's checks.

        What the block `limits` lacks is known from other keys.
        """
        limits, enabled = flow.limits, flow.canary.enabled
        return dict(limits) | {
            "canary": replace(
                limits.canary, enabled=enabled, deadline=flow.canary.deadline
            ),
            "latency": replace(limits.latency, enabled=enabled),
            "bottleneck": replace(
                limits.bottleneck, enabled=flow.mirror.jmx is not None
            ),
            "position": replace(
                limits.position, commits=flow.mirror.traits.commits
            ),
            "retention": replace(
                limits.retention, enabled=limits.configs.enabled
            ),
            "configs": replace(
                limits.configs, has_sync=flow.mirror.traits.has_config_sync
            ),
            "readers": replace(limits.readers, enabled=flow.readers.enabled),
            "schemas": replace(
                limits.schemas, enabled=self.compares_schemas(flow)
            ),
            "audit": AuditLimits(enabled=False)
            if self.audit is None
            else AuditLimits(timeout=self.audit.timeout),
            OFF: flow.mirror.traits.off,
            MIRROR: None
            if flow.mirror.kind == "mirrormaker2"
            else flow.mirror.traits.title,
        }

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        flows = dict(enumerate(self.flows))
        registries = {
            alias: cluster.schema_registry is not None
            for alias, cluster in self.clusters.items()
        }
        problems = [
            *check_ends(flows, registries),
            *check_flows(flows),
            *_find_same_clusters(flows, self.clusters),
        ]
        if problems:
            raise ProblemsError(problems)
        return self


def _find_pem_files(value: Any) -> Iterator[Path]:
    if isinstance(value, Properties):
        named = (v for k, v in value.items() if k.endswith(FILE_KEYS))
        yield from map(Path, named)
        return
    parts: Iterable[Any] = ()
    if isinstance(value, Model):
        parts = [part for _, part in value]
        ca = getattr(value, "ca", None)
        if ca is not None:
            yield ca
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    for part in parts:
        yield from _find_pem_files(part)


def load_mapping(document: Document) -> Config:
    """Make the configuration of a document that no file holds.

    Parameters
    ----------
    document
        Its data, and how its problems are reported.

    Raises
    ------
    ConfigError
        Raised if it cannot be used.
    """
    return load(Config, document, _check_parts)


def _find_same_clusters(
    flows: Mapping[int, FlowConfig], clusters: Mapping[str, ClusterConfig]
) -> Iterator[ConfigProblem]:
    """Yield flows whose ends are two names of one cluster."""
    for index, flow in flows.items():
        source, target = map(clusters.get, (flow.source, flow.target))
        if source is None or target is None or source is target:
            continue
        if source.cluster_id and source.cluster_id == target.cluster_id:
            yield Placed(index, flow).problem(
                "is the same cluster as the source: they have one cluster_id; "
                "correct one of them",
                "target",
            )


def _check_parts(data: Any) -> Sequence[ConfigProblem]:
    """Check the rules between the flows that are right in themselves."""
    if not isinstance(data, dict):
        return ()
    flows, clusters = data.get("flows"), data.get("clusters")
    sound: dict[int, FlowConfig] = {}
    ends: dict[int, FlowConfig] = {}
    for index, flow in enumerate(flows if isinstance(flows, list) else ()):
        if not isinstance(flow, dict):
            continue
        with suppress(ValidationError):
            # Its ends can be checked even if the rest is wrong.
            kept = {k: v for k, v in flow.items() if k in {"source", "target"}}
            ends[index] = FlowConfig.model_validate(kept)
            ends[index] = sound[index] = FlowConfig.model_validate(flow)
    problems = check_flows(sound)
    if isinstance(clusters, dict) and clusters:
        registries = {
            alias: isinstance(cluster, dict)
            and cluster.get("schema_registry") is not None
            for alias, cluster in clusters.items()
        }
        problems += check_ends(ends, registries)
    return problems


@dataclass(frozen=True, slots=True)
class Placed:
    """A flow and its place in the file."""

    index: int
    """Position in the list, from 0."""

    flow: FlowConfig
    """The flow."""

    def problem(self, message: str, *keys: str | int) -> ConfigProblem:
        """Make a problem of this flow, at the given keys below it."""
        path: YamlPath = ("flows", self.index, *keys)
        return ConfigProblem(path, message)

    def __str__(self) -> str:
        return f"flows[{self.index}]"


def pair_up(placed: Sequence[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Yield every pair of flows once, in the file's order."""
    for position, second in enumerate(placed):
        for first in placed[:position]:
            yield first, second


def describe_example(topic: str, *flows: FlowConfig) -> str:
    """Name a common topic, unless its pattern came from a reference."""
    hidden = any(f.topics.is_hidden("include") for f in flows)
    return "some topic" if hidden else f"a topic such as {topic!r}"


MOST_PATHS = 5000
"""Paths from flow to flow that are tried, while looking for loops."""


class _Rules:
    """Rules between flows.

    Parameters
    ----------
    flows
        Flows by their place in the file.
    """

    def __init__(self, flows: Mapping[int, FlowConfig]) -> None:
        self._placed = [Placed(i, f) for i, f in flows.items()]
        self._topics = CommonTopics()
        self._paths = MOST_PATHS
        self.doubts: dict[str, None] = {}
        """What could not be decided, one sentence each."""
        self.problems = [
            problem
            for first, second in pair_up(self._placed)
            for problem in self._check_pair(first, second)
        ]
        self.problems += self._check_rings()
        for one in self._placed:
            self.problems += self._check_patterns(one)

    def _find(
        self, placed: Sequence[Placed], *selections: Selection
    ) -> str | None:
        """Return a topic that all selections carry, if there provably is one.

        That of each flow, unless others are given.
        """
        try:
            return self._topics.find(
                *(selections or (p.flow.selection for p in placed))
            )
        except UndecidedError as e:
            names = " and ".join(map(str, sorted(placed, key=by_index)))
            self.doubts[f"{names}: whether their topics overlap {e}"] = None
            return None

    def _check_patterns(self, one: Placed) -> Iterator[ConfigProblem]:
        """Yield patterns that match no name that a topic can have."""
        topics, empty = one.flow.topics, False
        for number, pattern in enumerate(topics.include):
            if self._matches_nothing(Selection(include=(pattern,))):
                empty = True
                yield one.problem(
                    "must match the name of a topic, which has letters, "
                    "digits, '.', '_' and '-'",
                    *("topics", "include", number),
                )
        if not empty and self._matches_nothing(one.flow.selection):
            yield one.problem(
                "leaves no topic of topics.include; exclude less",
                *("topics", "exclude"),
            )

    def _matches_nothing(self, selection: Selection) -> bool:
        try:
            return self._topics.find(selection) is None
        except UndecidedError:
            return False

    def _check_rings(self) -> Iterator[ConfigProblem]:
        """Yield what would replicate in a loop, for each flow that closes one.

        Notes
        -----
        MirrorMaker 2 stops cycles by the alias in front of a topic's name.
        With names kept there is none, so two opposite flows, or a ring of
        more, copy each other's copies without end.
        """
        keeping = [
            p
            for p in self._placed
            if p.flow.topic_naming.keeps_names
            and p.flow.source != p.flow.target
        ]
        for position, last in enumerate(keeping):
            before = keeping[:position]
            found = self._find_ring(last, before)
            if found is not None:
                yield _describe_ring(*found)
                continue
            canaries = {
                p.flow.canary.topic: None
                for p in (*before, last)
                if p.flow.canary.enabled
            }
            for topic in canaries:
                ring = _find_canary_ring(topic, last, before)
                if ring is not None:
                    yield _describe_canary_ring(ring)
                    break

    def _find_ring(
        self, last: Placed, others: Sequence[Placed]
    ) -> tuple[Sequence[Placed], str] | None:
        """Return the shortest ring through a flow, and what it carries."""
        todo: deque[tuple[Placed, ...]] = deque([(last,)])
        while todo:
            path = todo.popleft()
            passed = {p.flow.source for p in path}
            for one in others:
                if one.flow.source != path[-1].flow.target:
                    continue
                closes = one.flow.target == last.flow.source
                if one.flow.target in passed and not closes:
                    continue
                self._paths -= 1
                if self._paths < 0:
                    self.doubts[
                        "flows: whether topics replicate in a loop cannot be "
                        "decided: too many flows keep the names of topics"
                    ] = None
                    return None
                longer = (*path, one)
                topic = self._find(longer)
                if topic is not None and closes:
                    return sorted(longer, key=by_index), topic
                if topic is not None:
                    todo.append(longer)
        return None

    def _check_pair(
        self, first: Placed, second: Placed
    ) -> Iterator[ConfigProblem]:
        one, two = first.flow, second.flow
        if one.name == two.name:
            yield second.problem(
                f"{first} has this name too; names must be unique", "name"
            )
        if (one.source, one.target) == (two.source, two.target):
            yield from self._check_same_pair(first, second)
        elif one.target == two.target:
            yield from self._check_fan_in(first, second)

    def _check_same_pair(
        self, first: Placed, second: Placed
    ) -> Iterator[ConfigProblem]:
        one, two = first.flow, second.flow
        topic = self._find((first, second))
        if topic is not None:
            yield second.problem(
                f"overlaps with {first}: both carry "
                f"{describe_example(topic, one, two)}; every topic of a pair "
                "of clusters belongs to one flow",
                "topics",
            )
        for mine, other, place in ((two, one, second), (one, two, first)):
            rival = first if place is second else second
            if not mine.canary.enabled:
                continue
            if other.canary.enabled and (
                other.canary.topic == mine.canary.topic
            ):
                if place is second:
                    yield place.problem(
                        f"{rival} has this canary topic too; flows of one "
                        "pair of clusters need canary topics of their own",
                        "canary",
                        "topic",
                    )
            elif other.selection.matches(mine.canary.topic):
                yield place.problem(
                    f"{rival} carries this topic too, which doubles every "
                    "probe; exclude it there",
                    "canary",
                    "topic",
                )

    def _check_fan_in(
        self, first: Placed, second: Placed
    ) -> Iterator[ConfigProblem]:
        for one, other in ((first, second), (second, first)):
            topics = one.flow.topics
            unsaid = Selection(
                include=topics.include, exclude=topics.exclude + topics.merged
            )
            topic = self._find(
                (one, other),
                rename(unsaid, one.flow.topic_naming),
                rename(other.flow.selection, other.flow.topic_naming),
            )
            if topic is not None:
                shown = describe_example(topic, one.flow, other.flow)
                yield one.problem(
                    f"{other} writes to the same topics of the target, "
                    f"{shown}; allowed if both flows list them as merged",
                    "topics",
                    "merged",
                )


def by_index(one: Placed) -> int:
    """Return a flow's place in the file."""
    return one.index


def _find_canary_ring(
    topic: str, last: Placed, others: Sequence[Placed]
) -> Sequence[Placed] | None:
    """Return the shortest ring through a flow that carries a canary topic."""
    carrying = [
        p
        for p in (last, *others)
        if p.flow.canary.topic == topic or p.flow.selection.matches(topic)
    ]
    if last not in carrying:
        return None
    reached: dict[str, tuple[Placed, ...]] = {last.flow.target: (last,)}
    todo = deque(reached)
    while todo:
        path = reached[todo.popleft()]
        for one in carrying:
            target = one.flow.target
            if one.flow.source != path[-1].flow.target or target in reached:
                continue
            reached[target] = (*path, one)
            if target == last.flow.source:
                return sorted(reached[target], key=by_index)
            todo.append(target)
    return None


def _describe_ring(ring: Sequence[Placed], topic: str) -> ConfigProblem:
    *before, last = ring
    others = " and ".join(map(str, before))
    example = describe_example(topic, *(p.flow for p in ring))
    return last.problem(
        f"with {others}, {example} replicates in a loop, because its name is "
        "kept; keep the topics apart, or use a naming that prefixes them",
        "topics",
    )


def _describe_canary_ring(ring: Sequence[Placed]) -> ConfigProblem:
    *before, last = ring
    others = " and ".join(map(str, before))
    return last.problem(
        f"with {others}, the canary topic replicates in a loop, because its "
        "name is kept; give each flow its own",
        "canary",
        "topic",
    )


def check_ends(
    flows: Mapping[int, FlowConfig], registries: Mapping[str, bool]
) -> list[ConfigProblem]:
    """Return what is wrong between flows and clusters.

    Parameters
    ----------
    flows
        Flows by their place in the file.
    registries
        Aliases of all clusters, and whether each has a schema registry.
    """
    problems: list[ConfigProblem] = []
    for index, flow in flows.items():
        problems += _check_clusters(Placed(index, flow), registries)
    return problems


def check_flows(flows: Mapping[int, FlowConfig]) -> list[ConfigProblem]:
    """Return what is wrong between flows.

    Parameters
    ----------
    flows
        Flows by their place in the file.
    """
    return _Rules(flows).problems


MOST_DOUBTS = 20
"""Pairs of flows that are listed."""


def find_undecided(flows: Sequence[FlowConfig]) -> list[str]:
    """Return what is unknown about overlaps, one sentence each."""
    doubts = list(_Rules(dict(enumerate(flows))).doubts)
    more = len(doubts) - MOST_DOUBTS
    return doubts[:MOST_DOUBTS] + (
        [f"flows: {more} more of these questions cannot be decided"]
        if more > 0
        else []
    )


def _check_clusters(
    one: Placed, registries: Mapping[str, bool]
) -> Iterator[ConfigProblem]:
    flow = one.flow
    if flow.source == flow.target:
        yield one.problem("must not be the flow's own source", "target")
    allowed = ", ".join(a if may_quote(a) else HIDDEN for a in registries)
    for end, alias in (("source", flow.source), ("target", flow.target)):
        if alias not in registries:
            yield one.problem(f"no such cluster; allowed are {allowed}", end)
    canary = flow.canary
    if not canary.enabled or canary.format == "json":
        return
    if not registries.get(flow.source, True):
        yield one.problem(
            "avro needs a schema_registry at the source cluster; "
            "allowed without one is json",
            "canary",
            "format",
        )
