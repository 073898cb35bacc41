"""The `flows` list: what is replicated, from where to where, by what."""

from typing import Any, Self

from pydantic import Field, model_validator

from ..domain.naming import Naming
from ..domain.selection import Selection
from ..domain.verdicts import Flow
from .base import Model
from .canary import UNKNOWN_LIMIT_BYTES, CanaryConfig
from .limits import LimitsConfig
from .mirror import MirrorConfig
from .problems import Problem, ProblemsError
from .references import Referenced
from .topic_naming import NamingConfig
from .topics import Pattern, TopicsConfig

__all__ = ["FlowConfig"]


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
                Problem(
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
                Problem(("canary", "sized", "bytes"), f"must be {allowed}")
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
