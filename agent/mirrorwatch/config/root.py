"""The whole configuration: flows, their limits, and the rules between them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations
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
from ..domain.lag.retention import RetentionLimits
from ..domain.latency import LatencyLimits
from ..domain.losses.model import LossesLimits
from ..domain.mirror_kinds import KINDS
from ..domain.parity.configs import ConfigsLimits
from ..domain.position.check import PositionLimits
from ..domain.readers.check import ReadersLimits
from ..domain.report import Flow
from ..domain.schemas.check import SchemasLimits
from ..domain.skips.check import SkipsLimits
from ..domain.tasks.check import TasksLimits
from ..domain.topics import (
    HEARTBEATS,
    LONGEST_NAME,
    NAME_CHARACTERS,
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
from .properties import Properties
from .sinks import SinksConfig, StateConfig, WebConfig

__all__ = ["Config", "FlowConfig", "LimitsConfig"]
__all__ += ["load_draft"]


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

    skips: Annotated[SkipsLimits, FROM_DATACLASS] = Field(
        default_factory=SkipsLimits, title="Skips and duplicates"
    )
    """Skipped and duplicated records."""

    losses: Annotated[LossesLimits, FROM_DATACLASS] = Field(
        default_factory=LossesLimits, title="Losses"
    )
    """Proved losses, of probes and of records."""

    retention: Annotated[RetentionLimits, FROM_DATACLASS] = Field(
        default_factory=RetentionLimits, title="Time to loss"
    )
    """Time until records that are not replicated yet expire."""

    position: Annotated[PositionLimits, FROM_DATACLASS] = Field(
        default_factory=PositionLimits, title="Position resets"
    )
    """Position resets of MirrorMaker."""

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
    """Flow: one-way replication of topics by one MirrorMaker."""

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
    """Warning and critical limits of the checks. All have defaults."""

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
        """Parts of a copied record that audits compare."""
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
    if NAME_CHARACTERS.issuperset(added):
        return
    path: YamlPath = ("mirror", "source_alias")
    if flow.naming.policy == "format":
        path = ("naming", "format")
    elif not NAME_CHARACTERS.issuperset(flow.mirror.separator):
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
    """Interval for evaluating all checks and publishing reports. Short enough
    to alert within seconds, at a negligible cost. Clusters are read as often,
    but at least every 30 s."""

    clusters: dict[str, ClusterConfig] = Field(title="Clusters", min_length=1)
    """Kafka clusters by alias. The aliases may differ from those of
    MirrorMaker."""

    flows: tuple[FlowConfig, ...] = Field(title="Flows", min_length=1)
    """Replication flows between these clusters."""

    web: WebConfig = Field(default_factory=WebConfig, title="Status page")
    """The status page, the API and `/metrics`."""

    sinks: SinksConfig = Field(default_factory=SinksConfig, title="Sinks")
    """Sinks that get reports, in addition to the status page and `/metrics`.
    All optional."""

    state: StateConfig = Field(default_factory=StateConfig, title="State")
    """Storage of the agent's state across restarts."""

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
        document = _read(path)
        config = load(cls, document, _check_parts)
        config._keep(path, document)  # noqa: SLF001
        return config

    @classmethod
    def from_file_unfollowed(
        cls, path: Path, *, without: Collection[str] = ()
    ) -> tuple[Self | None, tuple[YamlPath, ...]]:
        """Check what stands in a YAML file, and follow no reference.

        Parameters
        ----------
        path
            The file.
        without
            Blocks at its top that are not loaded.

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
        document = _read(path)
        if isinstance(document.data, dict):
            kept = {k: v for k, v in document.data.items() if k not in without}
            document = replace(document, data=kept)
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
            Name of the mapping in errors.

        Raises
        ------
        ConfigError
            Raised if it cannot be used.
        """
        return load(cls, Document(name=name, data=dict(data)), _check_parts)

    @property
    def document(self) -> Document:
        """Document that has the line of each key, for later problems."""
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
        critical = limits.losses.critical
        return dict(limits) | {
            "canary": replace(
                limits.canary,
                enabled=enabled,
                deadline=flow.canary.deadline,
                lost_window=critical,
            ),
            "skips": replace(limits.skips, lost_window=critical),
            "position": replace(limits.position, lost_window=critical),
            "latency": replace(limits.latency, enabled=enabled),
            "bottleneck": replace(
                limits.bottleneck, enabled=flow.mirror.jmx is not None
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


def _read(path: Path) -> Document:
    """Read a file of the configuration, or of the chart's values with it."""
    document = read_document(path)
    data, key = document.data, "config"
    if not isinstance(data, dict) or not isinstance(data.get(key), dict):
        return document
    return replace(
        document,
        data=data[key],
        lines={p[1:]: n for p, n in document.lines.items() if p[:1] == (key,)},
        problems=[
            replace(p, path=p.path[1:])
            for p in document.problems
            if p.path[:1] == (key,)
        ],
    )


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


def load_draft(document: Document) -> Config:
    """Load a document without a file, and resolve no reference.

    Raises
    ------
    ConfigError
        Raised by `Document.to_error` if it cannot be used.
    """
    config, _ = load_unfollowed(Config, document, _check_parts)
    assert config is not None  # noqa: S101 - references of drafts are texts
    return config


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
    """Return what is wrong between flows, which are by their place in the
    file. Overlaps on the topics that exist are found by the check `topics`.
    """
    placed = [Placed(index, flow) for index, flow in flows.items()]
    problems = []
    for first, second in combinations(placed, 2):
        one, two = first.flow, second.flow
        if one.name == two.name:
            problems.append(
                second.problem(
                    f"{first} has this name too; names must be unique", "name"
                )
            )
        if (one.source, one.target, one.selection) == (
            two.source,
            two.target,
            two.selection,
        ):
            problems.append(
                second.problem(
                    f"{first} has these topics too; every topic of a pair of "
                    "clusters belongs to one flow",
                    "topics",
                )
            )
    return problems


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
