"""The whole configuration."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from ..domain.audit.check import AuditLimits
from ..domain.checks import FlowLimits
from .audit import AuditConfig
from .base import ConfigProblem, Duration, Model, ProblemsError
from .flows import ClusterConfig, FlowConfig
from .loading import Document, load, read_document
from .rules import check_ends, check_flows
from .sinks import SinksConfig, StateConfig, WebConfig

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

    _file: Path | None = PrivateAttr(default=None)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the configuration from a YAML file.

        Raises
        ------
        ConfigError
            Raised if it cannot be used. The message has a line for each
            problem, and never a secret.
        """
        config = load(cls, read_document(path), _check_parts)
        config._file = path  # noqa: SLF001
        return config

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
    def file(self) -> Path | None:
        """The file it was read from, if it was."""
        return self._file

    @property
    def audit_out(self) -> str:
        """Folder of the audits' results: a path, or a URL for Spark."""
        given = self.audit.out if self.audit else None
        return given or str(self.state.path.with_name("audit"))

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
            "audit": AuditLimits(enabled=False)
            if self.audit is None
            else AuditLimits(timeout=self.audit.timeout),
        }

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        flows = dict(enumerate(self.flows))
        registries = {
            alias: cluster.schema_registry is not None
            for alias, cluster in self.clusters.items()
        }
        problems = [*check_ends(flows, registries), *check_flows(flows)]
        if problems:
            raise ProblemsError(problems)
        return self


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
