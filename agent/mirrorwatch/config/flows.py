"""The `flows` list: what is replicated, from where to where, by what."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from ..domain.bottleneck.check import BottleneckLimits
from ..domain.canary.check import CanaryLimits
from ..domain.heartbeats import HeartbeatsLimits
from ..domain.lag.check import LagLimits
from ..domain.lag.retention import RetentionLimits
from ..domain.latency import LatencyLimits
from ..domain.parity.configs import ConfigsLimits
from ..domain.parity.topics import TopicsLimits
from ..domain.position.check import PositionLimits
from ..domain.report import Flow
from ..domain.skips.check import SkipsLimits
from ..domain.tasks.check import TasksLimits
from ..domain.tasks.model import RestartRules
from ..domain.topics import (
    MM2_EXCLUDED,
    TOPIC_PLACEHOLDER,
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
    Selection,
    compile_pattern,
    split_patterns,
)
from .base import (
    FROM_DATACLASS,
    ConfigProblem,
    Model,
    ProblemsError,
    Referenced,
)
from .canary import UNKNOWN_LIMIT_BYTES, CanaryConfig
from .kafka import KafkaProperties
from .types import HttpServer, HttpUrl

__all__ = [
    "ClusterConfig",
    "ConnectConfig",
    "FlowConfig",
    "JmxConfig",
    "MirrorConfig",
    "MirrorTopicsConfig",
    "NamingConfig",
    "SchemaRegistryConfig",
    "TopicsConfig",
]


class ConnectConfig(HttpServer):
    """The REST API of Kafka Connect."""

    url: HttpUrl = Field(title="Address")
    """Address of any worker."""

    restart_failed: Annotated[RestartRules, FROM_DATACLASS] = Field(
        default_factory=RestartRules, title="Restarts of failed tasks"
    )
    """The only thing that the agent ever does to a mirror."""


class MirrorTopicsConfig(Model):
    """The mirror's own topics, where their names cannot be derived."""

    offsets: str | None = Field(None, title="Connect's offsets topic")
    """On the target. Default: `mm2-offsets.SOURCE.internal` in dedicated
    mode; on a Connect cluster, the worker's `offset.storage.topic`."""

    syncs: str | None = Field(None, title="Offset-syncs topic")
    """Default: `mm2-offset-syncs.ALIAS.internal` of the other side's alias."""

    checkpoints: str | None = Field(None, title="Checkpoints topic")
    """On the target. Default: `SOURCE.checkpoints.internal`."""

    status: str | None = Field(None, title="Connect's status topic")
    """On the target. Default: `mm2-status.SOURCE.internal` in dedicated
    mode; on a Connect cluster, the worker's `status.storage.topic`."""

    configs: str | None = Field(None, title="Connect's configs topic")
    """On the target. Default: `mm2-configs.SOURCE.internal` in dedicated
    mode; on a Connect cluster, the worker's `config.storage.topic`."""


class JmxConfig(Model):
    """The mirror's own figures. They explain; they never prove."""

    format: Literal["jolokia", "prometheus", "rmi"] = Field(title="Format")
    """How they are read: a Jolokia agent, a Prometheus exporter, or RMI."""

    urls: tuple[str, ...] = Field(title="Addresses", min_length=1)
    """One address for each process of the mirror."""

    user: str | None = Field(None, title="User name")
    """Who asks, where the agent, exporter or JMX port wants a login."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the server's certificate, if no public authority
    does. RMI with TLS cannot be read."""

    @model_validator(mode="after")
    def _check_urls(self) -> Self:
        problems = []
        for index, url in enumerate(self.urls):
            message = self._find_fault(url)
            if message is not None:
                problems.append(
                    ConfigProblem(("urls", index), message, shows_value=False)
                )
        if self.password is not None and self.user is None:
            problems.append(
                ConfigProblem(("user",), "is missing beside password")
            )
        if self.ca is not None and self.format == "rmi":
            problems.append(
                ConfigProblem(
                    ("ca",), "is of no use here (as the format is rmi)"
                )
            )
        if problems:
            raise ProblemsError(problems)
        return self

    def _find_fault(self, url: str) -> str | None:
        if self.format == "rmi":
            if url.startswith("service:jmx:rmi:"):
                return None
            return "must start with service:jmx:rmi: (as the format is rmi)"
        try:
            TypeAdapter(HttpUrl).validate_python(url)
        except ValidationError as e:
            return e.errors()[0]["msg"]
        return None


class MirrorConfig(Model):
    """The program that replicates a flow."""

    kind: Literal["mirrormaker2"] = Field("mirrormaker2", title="Kind")
    """Which program it is."""

    mode: Literal["dedicated", "connect"] = Field(
        "dedicated", title="How it runs"
    )
    """On its own (`connect-mirror-maker.sh`), or on a Connect cluster (as
    with Strimzi). It decides the names of the mirror's own topics."""

    source_alias: str = Field(
        title="The mirror's alias of the source",
        json_schema_extra={"default_text": "the flow's `source`"},
    )
    """`source.cluster.alias`. May be empty."""

    target_alias: str = Field(
        title="The mirror's alias of the target",
        json_schema_extra={"default_text": "the flow's `target`"},
    )
    """`target.cluster.alias`. May be empty."""

    separator: str = Field(".", title="Separator")
    """`replication.policy.separator`, in names of topics and of the mirror's
    own ones. May be empty."""

    connectors: tuple[str, ...] = Field((), title="Connectors")
    """Connectors of this flow on a shared Connect cluster. Only these are
    judged. Default: all that replicate between the two aliases."""

    topics: MirrorTopicsConfig = Field(
        default_factory=MirrorTopicsConfig, title="The mirror's own topics"
    )
    """Only where the names cannot be derived."""

    syncs_location: Literal["source", "target"] = Field(
        "source", title="Where offset-syncs are"
    )
    """`offset-syncs.topic.location`."""

    connect: ConnectConfig | None = Field(None, title="Connect's REST API")
    """Adds what only the API knows. A dedicated mirror has none."""

    jmx: JmxConfig | None = Field(None, title="JMX")
    """Without it, the mirror's own figures are off; every proof works."""

    max_in_flight: int | None = Field(
        None, title="Requests in flight of the mirror's producer", ge=1
    )
    """`max.in.flight.requests.per.connection`. With 1, Connect's default,
    records keep their order, which proves losses sooner. Default: as the
    mirror's connector configuration says."""

    exactly_once: bool | None = Field(None, title="Exactly once")
    """Whether the mirror writes in transactions, whose markers take offsets
    at the target. Default: as the mirror's configuration says."""

    max_request_size: ByteSize | None = Field(
        None, title="Largest request of the mirror's producer"
    )
    """`max.request.size`. Sized probes above 512 KiB need it, because a
    record that the mirror cannot produce kills its task."""


class NamingConfig(Model):
    """How a source topic is called on the target."""

    policy: Literal["identity", "default", "format"] = Field(title="Policy")
    """`identity` keeps names, `default` prefixes the source's alias."""

    separator: str = Field(".", title="Separator")
    """Between alias and topic; the mirror's `separator` if not given."""

    format: str | None = Field(None, title="Format")
    """Target name, with `${topic}` in the place of the source topic."""

    @model_validator(mode="after")
    def _check_format(self) -> Self:
        if (self.policy == "format") != (self.format is not None):
            raise ProblemsError(
                [
                    ConfigProblem(
                        ("format",), "goes with the policy `format` only"
                    )
                ]
            )
        if self.format and self.format.count(TOPIC_PLACEHOLDER) != 1:
            raise ProblemsError(
                [
                    ConfigProblem(
                        ("format",),
                        f"must hold {TOPIC_PLACEHOLDER} exactly once",
                    )
                ]
            )
        return self

    def to_naming(self, alias: str) -> Naming:
        """Return the policy for a mirror's alias of the source."""
        match self.policy:
            case "identity":
                return IdentityNaming(alias=alias, separator=self.separator)
            case "default":
                return DefaultNaming(alias=alias, separator=self.separator)
            case "format":
                return FormatNaming(format=self.format or TOPIC_PLACEHOLDER)


def _check_pattern(pattern: str) -> str:
    compile_pattern(pattern)
    return pattern


def _split(value: Any) -> Any:
    return split_patterns(value) if isinstance(value, str) else value


Pattern = Annotated[str, AfterValidator(_check_pattern)]
"""A regex of topic names, as MirrorMaker 2 takes it."""

Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(_split)]
"""A list of regexes, or MirrorMaker 2's comma separated form."""


class TopicsConfig(Model):
    """Which source topics a flow carries. Regexes match the whole name."""

    include: Patterns = Field((".*",), title="Included topics", min_length=1)
    """As the mirror's `topics`: a list, or its comma separated form."""

    exclude: Patterns = Field(MM2_EXCLUDED, title="Excluded topics")
    """As the mirror's `topics.exclude`; they win. The default is MirrorMaker
    2's own."""

    merged: Patterns = Field((), title="Merged topics")
    """Source topics whose target topic other flows write to as well. Their
    counts cannot be told apart by flow, so this must be said."""


class LimitsConfig(Model):
    """Limits of a flow, by check."""

    canary: Annotated[CanaryLimits, FROM_DATACLASS] = Field(
        default_factory=CanaryLimits, title="Canary"
    )
    """When probes make the flow unhealthy."""

    latency: Annotated[LatencyLimits, FROM_DATACLASS] = Field(
        default_factory=LatencyLimits, title="Latency"
    )
    """When their latency does."""

    lag: Annotated[LagLimits, FROM_DATACLASS] = Field(
        default_factory=LagLimits, title="Replication lag"
    )
    """When replication lag does."""

    skips: Annotated[SkipsLimits, FROM_DATACLASS] = Field(
        default_factory=SkipsLimits, title="Skips and duplicates"
    )
    """When skipped or duplicated records do."""

    retention: Annotated[RetentionLimits, FROM_DATACLASS] = Field(
        default_factory=RetentionLimits, title="Time to loss"
    )
    """When the time until uncopied records expire does."""

    position: Annotated[PositionLimits, FROM_DATACLASS] = Field(
        default_factory=PositionLimits, title="Position resets"
    )
    """How long a position reset of the mirror does."""

    topics: Annotated[TopicsLimits, FROM_DATACLASS] = Field(
        default_factory=TopicsLimits, title="Topics"
    )
    """When missing topics or partitions do."""

    configs: Annotated[ConfigsLimits, FROM_DATACLASS] = Field(
        default_factory=ConfigsLimits, title="Topic configurations"
    )
    """When topics that are configured differently do."""

    tasks: Annotated[TasksLimits, FROM_DATACLASS] = Field(
        default_factory=TasksLimits, title="Tasks"
    )
    """When the mirror's tasks do."""

    heartbeats: Annotated[HeartbeatsLimits, FROM_DATACLASS] = Field(
        default_factory=HeartbeatsLimits, title="Heartbeats"
    )
    """When its heartbeats do."""

    bottleneck: Annotated[BottleneckLimits, FROM_DATACLASS] = Field(
        default_factory=BottleneckLimits, title="Bottleneck"
    )
    """When the mirror's JMX metrics do."""


class FlowConfig(Model):
    """One-way replication of a set of topics by one mirror."""

    name: str = Field(
        title="Name",
        min_length=1,
        json_schema_extra={"default_text": "`source->target`"},
    )
    """A label in every sink; unique."""

    source: str = Field(title="Source")
    """Alias of the cluster that is read."""

    target: str = Field(title="Target")
    """Alias of the cluster that is written."""

    naming: NamingConfig = Field(
        default_factory=lambda: NamingConfig(policy="default"),
        title="Naming",
    )
    """The mirror's replication policy: `identity`, `default`, `{policy:
    default, separator: "_"}` or `{format: "summit.${topic}"}`. The default
    is MirrorMaker 2's own."""

    topics: TopicsConfig = Field(default_factory=TopicsConfig, title="Topics")
    """What the flow carries: the mirror's own topic filter."""

    classes: dict[str, Pattern] = Field(
        default_factory=dict, title="Classes of topics"
    )
    """Regex of the topics in each class, such as telemetry or commands;
    pages and figures are summed by class."""

    mirror: MirrorConfig = Field(title="Mirror")
    """The program that replicates."""

    canary: CanaryConfig = Field(default_factory=CanaryConfig, title="Canary")
    """Probes that prove that records arrive."""

    limits: LimitsConfig = Field(default_factory=LimitsConfig, title="Limits")
    """When a check is not healthy. Every limit has a default."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        """Fill in what one key takes from another."""
        if not isinstance(data, dict):
            return data
        data = {k: v for k, v in data.items() if v is not None}
        source, target = data.get("source", ""), data.get("target", "")
        data.setdefault("name", _join(source, target))
        naming = data.get("naming", "default")
        if isinstance(naming, str):
            naming = {"policy": naming}
        elif isinstance(naming, dict) and naming.get("format") is not None:
            naming = {"policy": "format"} | naming
        mirror = data.get("mirror", {})
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
        if sized is not None and sized.bytes > (limit or UNKNOWN_LIMIT_BYTES):
            allowed = (
                f"at most {UNKNOWN_LIMIT_BYTES} bytes, as the mirror's "
                "max_request_size is not configured"
                if limit is None
                else f"at most the mirror's max_request_size, {int(limit)}"
            )
            problems.append(
                ConfigProblem(
                    ("canary", "sized", "bytes"), f"must be {allowed}"
                )
            )
        if problems:
            raise ProblemsError(problems)
        return self

    @property
    def flow(self) -> Flow:
        """The flow as verdicts and sinks know it."""
        return Flow(name=self.name, source=self.source, target=self.target)

    @property
    def topic_naming(self) -> Naming:
        """The policy with the mirror's alias: ``remote()``, ``origin()``."""
        return self.naming.to_naming(self.mirror.source_alias)

    @property
    def selection(self) -> Selection:
        """The topics that the flow carries: ``matches(topic)``."""
        return Selection(
            include=self.topics.include, exclude=self.topics.exclude
        )


def _join(source: Any, target: Any) -> str:
    """Name a flow after its ends; a name made of references is one."""
    name = f"{source}->{target}"
    ends = (source, target)
    referenced = any(isinstance(end, Referenced) for end in ends)
    return Referenced(name) if referenced else name


class SchemaRegistryConfig(HttpServer):
    """A schema registry with Confluent's API."""

    url: HttpUrl = Field(title="Address")
    """Address of the registry, with its path if it has one
    (`/apis/ccompat/v7` for Apicurio)."""


class ClusterConfig(Model):
    """One Kafka cluster."""

    kafka: KafkaProperties = Field(title="Kafka properties")
    """Properties of every client, by librdkafka's own names;
    `bootstrap.servers` is needed. What the agent must own (such as
    `group.id`) is refused."""

    cluster_id: str | None = Field(None, title="Cluster id", min_length=1)
    """Id that the cluster must have. Without it the first one that is seen
    counts, from then on. Give the new one where a cluster was replaced on
    purpose: what was known of the old one's topics is then forgotten."""

    schema_registry: SchemaRegistryConfig | None = Field(
        None, title="Schema registry"
    )
    """Registry of this site. `canary.format: avro` needs that of the source,
    and looks into that of the target."""
