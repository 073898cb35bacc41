"""The whole configuration."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import Field, ValidationError

from ..exceptions import ConfigError
from .audit import AuditConfig
from .base import Model
from .clusters import ClusterConfig
from .durations import Duration
from .flows import FlowConfig
from .outputs import SinksConfig, StateConfig, WebConfig

__all__ = ["Config"]


class Config(Model):
    """The whole configuration, as in `agent/config.example.yaml`."""

    interval: Duration = Field(
        timedelta(seconds=5), title="Tick", ge=timedelta(milliseconds=100)
    )
    """How often everything is judged and published: often enough for an
    alarm within seconds, seldom enough to cost next to nothing."""

    clusters: dict[str, ClusterConfig] = Field(title="Clusters", min_length=1)
    """Kafka clusters by alias. Aliases are ours; the mirror may use its
    own."""

    flows: tuple[FlowConfig, ...] = Field(title="Flows", min_length=1)
    """What is replicated between them."""

    web: WebConfig = Field(default_factory=WebConfig, title="Status page")
    """The page, the API and `/metrics`."""

    sinks: SinksConfig = Field(default_factory=SinksConfig, title="Sinks")
    """Where reports go beside them. None is needed."""

    state: StateConfig = Field(default_factory=StateConfig, title="State")
    """What must outlive the process."""

    audit: AuditConfig | None = Field(None, title="Nightly audit")
    """Without it, the check `audit` is off."""

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the configuration from a YAML file.

        Raises
        ------
        ConfigError
            Raised if it cannot be used. The message has a line for each
            problem, and never a secret.
        """
        return cls.from_mapping(yaml.safe_load(path.read_text()), str(path))

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
        try:
            return cls.model_validate(data)
        except ValidationError as e:
            raise ConfigError(f"{name}: {e}") from e
