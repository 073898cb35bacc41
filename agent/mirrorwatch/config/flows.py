"""The `flows` list: what is replicated, from where to where, by what."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..domain.naming import (
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
)
from ..domain.selection import (
    MM2_EXCLUDED,
    Selection,
    compile_pattern,
    split_patterns,
)
from ..domain.verdicts import Flow
from .base import Model
from .canary import CanaryConfig
from .limits import LimitsConfig
from .mirror import MirrorConfig

__all__ = ["FlowConfig", "NamingConfig", "Pattern", "Patterns"]
__all__ += ["TopicsConfig"]


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


class NamingConfig(Model):
    """How a source topic is called on the target."""

    policy: Literal["identity", "default", "format"] = Field(title="Policy")
    """`identity` keeps names, `default` prefixes the source's alias."""

    separator: str = Field(".", title="Separator")
    """Between alias and topic; the mirror's `separator` if not given."""

    format: str | None = Field(None, title="Format")
    """Target name, with `${topic}` in the place of the source topic."""


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
        data.setdefault("name", f"{source}->{target}")
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
            separator = naming.get("separator", mirror.get("separator", "."))
            naming = {"separator": separator} | naming
            mirror = {"separator": separator} | mirror
        return data | {"naming": naming, "mirror": mirror}

    @property
    def flow(self) -> Flow:
        """The flow as verdicts and sinks know it."""
        return Flow(name=self.name, source=self.source, target=self.target)

    @property
    def topic_naming(self) -> Naming:
        """The policy with the mirror's alias: ``remote()``, ``origin()``."""
        alias, separator = self.mirror.source_alias, self.naming.separator
        match self.naming.policy:
            case "identity":
                return IdentityNaming(alias=alias, separator=separator)
            case "default":
                return DefaultNaming(alias=alias, separator=separator)
            case "format":
                return FormatNaming(format=self.naming.format or "${topic}")

    @property
    def selection(self) -> Selection:
        """The topics that the flow carries: ``matches(topic)``."""
        return Selection(
            include=self.topics.include, exclude=self.topics.exclude
        )
