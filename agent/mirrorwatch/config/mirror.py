"""The mirror of a flow: its topics, its naming, its settings, its servers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

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
from pydantic_core import PydanticCustomError

from ..domain.mirror_kinds import KINDS
from ..domain.mirror_traits import MirrorTraits
from ..domain.topics import (
    MM2_EXCLUDED,
    TOPIC_PLACEHOLDER,
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
    PatternError,
    compile_pattern,
    split_patterns,
)
from .base import (
    NEVER_SHOWN,
    ConfigProblem,
    Model,
    ProblemsError,
)
from .types import HttpServer, HttpUrl, PemFile, Share

__all__ = [
    "ConnectConfig",
    "FilteredConfig",
    "JmxConfig",
    "MirrorConfig",
    "MirrorTopicsConfig",
    "NamingConfig",
    "Pattern",
    "ReadersConfig",
    "TopicsConfig",
    "ZooKeeperConfig",
]


class ConnectConfig(HttpServer):
    """The REST API of Kafka Connect."""

    url: HttpUrl = Field(title="URL")
    """URL of any worker."""


class MirrorTopicsConfig(Model):
    """MirrorMaker's internal topics, if their names cannot be derived."""

    offsets: str | None = Field(None, title="Connect's offsets topic")
    """On the target. Default: `mm2-offsets.SOURCE.internal` in dedicated mode.
    Required on a Connect cluster: the worker's `offset.storage.topic`."""

    syncs: str | None = Field(None, title="Offset-syncs topic")
    """Default: `mm2-offset-syncs.ALIAS.internal`, with the alias of the other
    cluster."""

    checkpoints: str | None = Field(None, title="Checkpoints topic")
    """On the target. Default: `SOURCE.checkpoints.internal`."""

    status: str | None = Field(None, title="Connect's status topic")
    """On the target. Default: `mm2-status.SOURCE.internal` in dedicated mode.
    On a Connect cluster, set it to the worker's `status.storage.topic`, or
    configure `connect`; otherwise the check `tasks` is off."""

    configs: str | None = Field(None, title="Connect's configs topic")
    """On the target. Default: `mm2-configs.SOURCE.internal` in dedicated mode.
    Required on a Connect cluster: the worker's `config.storage.topic`."""


class JmxConfig(Model):
    """JMX metrics of MirrorMaker.

    They explain a problem, but never prove one.
    """

    format: Literal["jolokia", "prometheus", "rmi"] = Field(title="Format")
    """Source of the metrics: a Jolokia agent, a Prometheus exporter (the JMX
    exporter, or Strimzi's metrics reporter), or a JMX port by RMI."""

    urls: tuple[str, ...] = Field(title="URLs", min_length=1)
    """URL of each MirrorMaker process."""

    user: str | None = Field(None, title="User name")
    """User name, if the Jolokia agent, the exporter or the JMX port requires a
    login."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: PemFile | None = Field(None, title="CA certificate")
    """PEM file with the CA that signed the server's certificate. Default: the
    public CAs. RMI with TLS is not supported."""

    @model_validator(mode="after")
    def _check_urls(self) -> Self:
        problems = []
        for index, url in enumerate(self.urls):
            problem = self._find_fault(url)
            if problem is not None:
                problems.append(replace(problem, path=("urls", index)))
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

    def _find_fault(self, url: str) -> ConfigProblem | None:
        if self.format == "rmi":
            if url.startswith("service:jmx:rmi:"):
                return None
            return ConfigProblem(
                (), "must start with service:jmx:rmi: (as the format is rmi)"
            )
        try:
            TypeAdapter(HttpUrl).validate_python(url)
        except ValidationError as e:
            (fault,) = e.errors()
            shown = fault["type"] != NEVER_SHOWN
            return ConfigProblem((), fault["msg"], shows_value=shown)
        return None


class ZooKeeperConfig(Model):
    """A ZooKeeper that holds positions. Needs the extra `zookeeper`."""

    servers: str = Field(title="Servers", min_length=1)
    """uReplicator's `commit.zookeeper.connect`, or its source's
    `zookeeper.connect`: addresses with commas, and a chroot behind the last,
    as in `zk-1:2181,zk-2:2181/kafka`."""

    user: str | None = Field(None, title="User name")
    """User name of the scheme `digest`, if not everybody may read the
    znodes."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: PemFile | None = Field(None, title="CA certificate")
    """PEM file with the CA that signed the servers' certificates. If
    configured, ZooKeeper is reached by TLS."""

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.user is None) != (self.password is None):
            missing = "user" if self.user is None else "password"
            other = "password" if self.user is None else "user"
            raise ProblemsError(
                [ConfigProblem((missing,), f"is missing beside {other}")]
            )
        return self


if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[tuple(KINDS)]


class MirrorConfig(Model):
    """The MirrorMaker that replicates a flow."""

    kind: Kind = Field("mirrormaker2", title="Kind")
    """The replication software. `group` is any other that commits its
    positions as a consumer group at the source, `linked` any other that keeps
    the offsets of records, `opaque` any other that keeps partitions and
    timestamps: `canary`, parity and the audit watch it. What is checked of
    each: [mirrors.md](mirrors.md)."""

    group: str | None = Field(None, title="Consumer group", min_length=1)
    """Consumer group at the source that holds the mirror's positions.
    Required for `group`, and for each kind that
    [mirrors.md](mirrors.md#a-consumer-group) names with it. With
    `ureplicator` it is that in ZooKeeper, by default `ureplicator`; with
    `replicator` it is `src.consumer.group.id`, if `offset.start` is
    `consumer`."""

    zookeeper: ZooKeeperConfig | None = Field(None, title="ZooKeeper")
    """ZooKeeper with `ureplicator`'s positions."""

    mode: Literal["dedicated", "connect"] = Field("dedicated", title="Mode")
    """`dedicated` for `connect-mirror-maker.sh`, `connect` for connectors on a
    Kafka Connect cluster (as with Strimzi). The names of MirrorMaker's
    internal topics depend on it."""

    source_alias: str = Field(
        title="Source alias",
        json_schema_extra={"default_text": "the flow's `source`"},
    )
    """MirrorMaker's `source.cluster.alias`. May be empty."""

    target_alias: str = Field(
        title="Target alias",
        json_schema_extra={"default_text": "the flow's `target`"},
    )
    """MirrorMaker's `target.cluster.alias`. May be empty."""

    separator: str = Field(".", title="Separator")
    """MirrorMaker's `replication.policy.separator`, in the names of remote and
    internal topics. May be empty."""

    connectors: tuple[str, ...] = Field((), title="Connectors")
    """Names of this flow's connectors on a shared Connect cluster. Only these
    are checked. Default: all connectors that replicate between the two
    aliases."""

    topics: MirrorTopicsConfig = Field(
        default_factory=MirrorTopicsConfig, title="Internal topics"
    )
    """Names of MirrorMaker's internal topics. Needed only if they cannot be
    derived."""

    syncs_location: Literal["source", "target"] = Field(
        "source", title="Location of the offset-syncs topic"
    )
    """MirrorMaker's `offset-syncs.topic.location`."""

    connect: ConnectConfig | None = Field(None, title="Connect REST API")
    """Optional. Adds what only the REST API reports. A dedicated MirrorMaker
    has no such API."""

    jmx: JmxConfig | None = Field(None, title="JMX")
    """Optional. If not configured, the check `bottleneck` is off; all other
    checks work without it."""

    max_in_flight: int | None = Field(
        None, title="Producer requests in flight", ge=1, le=1000
    )
    """`max.in.flight.requests.per.connection` of MirrorMaker's producer. With
    1, Connect's default, records keep their order, and losses are proved
    sooner. Default: read from the connector's configuration."""

    exactly_once: bool | None = Field(None, title="Exactly once")
    """MirrorMaker writes in transactions, whose markers occupy offsets at the
    target. Default: read from MirrorMaker's configuration."""

    isolation_level: Literal["read_committed", "read_uncommitted"] | None = (
        Field(None, title="Isolation level")
    )
    """`isolation.level` of the mirror's consumer: `read_committed` leaves out
    records of aborted transactions. The audit reads the source in the same
    way. Default: read from the configuration of MirrorMaker's connectors; of
    other kinds the audit needs it."""

    keeps_partitions: bool | None = Field(
        None,
        title="Kept partitions",
        json_schema_extra={
            "default_text": "`true` for `replicator`, for others see "
            "[mirrors.md](mirrors.md#kept-partitions)"
        },
    )
    """Records keep their partition at the target: `mirus` with
    `enable.partition.matching`, `ureplicator` with its destination observer,
    `replicator` unless `topic.preserve.partitions` is `false`. Then `canary`
    and the audit work by partition."""

    added_headers: tuple[str, ...] = Field((), title="Added headers")
    """Headers that the mirror, or a transform of it, adds to copies. The audit
    does not compare them, nor those that the kind adds by itself."""

    max_request_size: ByteSize | None = Field(
        None, title="Producer request size", ge=1024, le=2**31 - 1
    )
    """`max.request.size` of MirrorMaker's producer. Required for sized probes
    above 512 KiB, because a record that MirrorMaker cannot produce fails its
    task."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        problems = [
            ConfigProblem(path, message)
            for path, message in self._find_mismatches()
        ]
        if problems:
            raise ProblemsError(problems)
        return self

    @property
    def traits(self) -> MirrorTraits:
        """Traits that the mirror is known to have."""
        traits = KINDS[self.kind]
        if self.keeps_partitions is None:
            return traits
        return replace(traits, keeps_partitions=self.keeps_partitions)

    def _find_mismatches(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield keys that do not go with the kind."""
        traits = KINDS[self.kind]
        is_mm2 = self.kind == "mirrormaker2"
        takes_group = traits.in_group or traits.in_zookeeper
        used = {
            "group": takes_group or self.kind == "replicator",
            "zookeeper": traits.in_zookeeper,
            "keeps_partitions": traits.only_commits,
            "connect": is_mm2 or traits.in_connect,
            "jmx": is_mm2,
        }
        for key, is_used in used.items():
            if not is_used and getattr(self, key) is not None:
                yield (key,), f"is of no use here (as kind is {self.kind})"
        if traits.in_group:
            yield from self._find_group_faults()
        if traits.in_connect:
            yield from self._find_connect_faults()
        if is_mm2 and self.mode == "connect":
            yield from self._find_worker_faults()
        if traits.in_zookeeper and self.zookeeper is None:
            message = f"is missing (as kind is {self.kind})"
            yield ("zookeeper",), message

    def _find_connect_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        because = f"is missing (as kind is {self.kind}):"
        if not self.connectors:
            message = (
                f"{because} name the connectors of this flow, as their "
                "positions name no cluster"
            )
            yield ("connectors",), message
        for key in ("offsets", "configs"):
            needed = key == "configs" or self.group is None
            if needed and getattr(self.topics, key) is None:
                setting = f"{key.removesuffix('s')}.storage.topic"
                yield (
                    ("topics", key),
                    f"{because} it is the worker's {setting}",
                )

    def _find_worker_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield internal topics whose names only the worker knows."""
        for key in ("offsets", "configs"):
            if getattr(self.topics, key) is None:
                message = (
                    "is missing (as mode is connect): it is the worker's "
                    f"{key.removesuffix('s')}.storage.topic, with Strimzi by "
                    f"default mirrormaker2-cluster-{key}"
                )
                yield ("topics", key), message

    def _find_group_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        if self.group is None:
            message = (
                f"is missing (as kind is {self.kind}): name the consumer "
                "group at the source with which the mirror reads"
            )
            yield ("group",), message
            return
        # Of any mirror: `group` may stand for one of these.
        for traits in KINDS.values():
            helper = traits.helper_groups
            if helper is not None and self.group.endswith(helper):
                message = (
                    f"is a helper of {traits.title} that copies nothing; name "
                    f"the group without {helper}"
                )
                yield ("group",), message


class NamingConfig(Model):
    """Naming of source topics at the target."""

    policy: Literal["identity", "default", "format"] = Field(title="Policy")
    """`identity` keeps the name (but MirrorMaker 2 adds the source alias to
    names that end in `heartbeats`), `default` adds the source alias as a
    prefix, `format` uses the key `format`."""

    separator: str = Field(".", title="Separator")
    """Separator between alias and topic. Default: the `separator` under
    `mirror`."""

    format: str | None = Field(None, title="Format")
    """Name at the target, in which `${topic}` stands for the source topic."""

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

    def to_naming(self, alias: str, *, has_heartbeats: bool) -> Naming:
        """Return the policy for a mirror's alias of the source.

        Parameters
        ----------
        alias
            The alias.
        has_heartbeats
            The mirror names topics of heartbeats as MirrorMaker 2's
            ``IdentityReplicationPolicy`` does.
        """
        match self.policy:
            case "identity" if not has_heartbeats:
                return FormatNaming(format=TOPIC_PLACEHOLDER)
            case "identity":
                return IdentityNaming(alias=alias, separator=self.separator)
            case "default":
                return DefaultNaming(alias=alias, separator=self.separator)
            case "format":
                return FormatNaming(format=self.format or TOPIC_PLACEHOLDER)


def _check_pattern(pattern: str) -> str:
    try:
        compile_pattern(pattern)
    except PatternError as e:
        raise PydanticCustomError(
            "pattern", "{reason}; correct it", {"reason": str(e)}
        ) from e
    return pattern


def _split(value: Any) -> Any:
    return split_patterns(value) if isinstance(value, str) else value


Pattern = Annotated[str, AfterValidator(_check_pattern)]
"""A regex of topic names, as MirrorMaker 2 takes it."""

Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(_split)]
"""A list of regexes, or MirrorMaker 2's comma separated form."""


class FilteredConfig(Model):
    """Topics of which a transform drops records on purpose.

    A regex alone stands for a block with this `pattern`.
    """

    pattern: Pattern = Field(title="Regex")
    """Regex of the whole name of source topics. The first that matches a topic
    holds."""

    at_most: Share | None = Field(None, title="At most")
    """Share of the records of each topic that may be missing, such as `10%`.
    More is critical, with the count. Default: no limit."""


def _to_filtered(value: Any) -> Any:
    found = _split(value)
    if not isinstance(found, list | tuple):
        return found
    return [{"pattern": v} if isinstance(v, str) else v for v in found]


class TopicsConfig(Model):
    """Topics that the flow replicates. Regexes match the whole topic name."""

    include: Patterns = Field((".*",), title="Included topics", min_length=1)
    """Same as MirrorMaker's `topics`: a list, or a comma-separated string."""

    exclude: Patterns = Field(MM2_EXCLUDED, title="Excluded topics")
    r"""Same as MirrorMaker's `topics.exclude`; takes precedence over
    `include`. The default is MirrorMaker 2's own since Kafka 4.0; before, it
    is `['.*[\-\.]internal', '.*\.replica', '__.*']`."""

    merged: Patterns = Field((), title="Merged topics")
    """Source topics whose target topic is also written by other flows. Must be
    listed, because record counts at the target cannot be attributed to one
    flow."""

    filtered: Annotated[
        tuple[FilteredConfig, ...], BeforeValidator(_to_filtered)
    ] = Field((), title="Filtered topics")
    """Source topics of which a transform drops records on purpose: what is
    missing is counted and no alarm. A list of regexes, or of blocks with
    `pattern` and `at_most`. See [Filtered topics](#filtered-topics)."""


class ReadersConfig(Model):
    """Consumer groups at the target whose lag is watched."""

    groups: Patterns = Field((), title="Consumer groups")
    """Regexes of the whole names of consumer groups. Up to 200 groups are
    read at each target, every 15 seconds, with two requests for each: Kafka's
    client library asks for one group at a time."""

    connectors: tuple[str, ...] = Field((), title="Sink connectors")
    """Names of sink connectors. The consumer group of each is
    `connect-NAME`; list it under `groups` if the connector overrides
    `group.id`."""

    @property
    def enabled(self) -> bool:
        """Return whether it has any group."""
        return bool(self.groups or self.connectors)

    @property
    def named(self) -> tuple[str, ...]:
        """Groups of the connectors, which must be there."""
        return tuple(f"connect-{name}" for name in self.connectors)
