"""The mirror of a flow: its topics, its naming, its settings, its servers."""

from dataclasses import replace
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
from pydantic_core import PydanticCustomError

from ..domain.tasks.model import RestartRules
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
    FROM_DATACLASS,
    NEVER_SHOWN,
    ConfigProblem,
    Model,
    ProblemsError,
)
from .types import HttpServer, HttpUrl

__all__ = [
    "ConnectConfig",
    "JmxConfig",
    "MirrorConfig",
    "MirrorTopicsConfig",
    "NamingConfig",
    "Pattern",
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
    try:
        compile_pattern(pattern)
    except PatternError as e:
        raise PydanticCustomError(
            "pattern", "{reason}", {"reason": str(e)}
        ) from e
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
