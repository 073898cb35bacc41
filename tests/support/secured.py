"""An agent on a secured lab, watched while rights come and go."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from mirrorwatch.config import Config
from mirrorwatch.domain.acls import Right
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import Lab, LabSettings
from tests.support.rights import site
from tests.support.watch import Watch, describe, wait_until

__all__ = ["names", "secrets", "secured", "taken", "watching"]
__all__ += ["write_config"]


def secured(**more: Any) -> LabSettings:
    """Return the settings of a lab where everything needs a right."""
    return LabSettings(
        intervals="fast",
        secured=True,
        # The mirror would copy the rights that a test grants.
        mirror_properties={"sync.topic.acls.enabled": "false"},
        **more,
    )


def watching(
    lab: Lab,
    *,
    canary: Mapping[str, Any] | None = None,
    kafka: Mapping[str, str] | None = None,
) -> Watch:
    """Return an agent whose verdicts soon forget a trouble that is over."""
    # Large probes are what needs DESCRIBE_CONFIGS.
    own = {"deadline": "5s", "sized": {"bytes": 1000}}
    watch = Watch(lab, canary={**own, **(canary or {})})
    (flow,) = watch.config.flows
    soon = replace(flow.limits.canary, warning_window=timedelta(seconds=3))
    limits = flow.limits.model_copy(update={"canary": soon})
    watch.config = watch.config.model_copy(
        update={"flows": (flow.model_copy(update={"limits": limits}),)}
    )
    if kafka is not None:
        watch.config = _with_source(watch.config, kafka)
    return watch


@contextmanager
def taken(lab: Lab, right: Right) -> Iterator[None]:
    """Take a right away for a while."""
    grants = site(lab, right).grants
    grants.revoke([right])
    try:
        yield
    finally:
        grants.grant([right])


def names(watch: Watch, right: Right) -> None:
    """Wait until a verdict that is not ok names a right and its cluster."""
    alias = watch.config.flows[0].source
    if right.side == "target":
        alias = watch.config.flows[0].target

    def named() -> bool:
        verdict = watch.verdict(right.check)
        if verdict is None or verdict.health is Health.OK:
            return False
        said = [verdict.reason, *map(str, verdict.evidence.values())]
        return any(f"lacks {right} at {alias}" in text for text in said)

    wait_until(
        named,
        what=lambda: (str(right), watch.verdict(right.check)),
    )


def secrets(lab: Lab) -> list[str]:
    found = [
        secret
        for place in (lab.source, lab.target)
        if place.security
        for secret in place.security.secrets
    ]
    assert len(found) == 4
    return found


def write_config(lab: Lab, folder: Path) -> Path:
    """Write a configuration that takes the password of summit from a file,
    and that of ldf from LDF_SECRET.
    """
    data = describe(lab)
    summit, ldf = (data["clusters"][a]["kafka"] for a in ("summit", "ldf"))
    assert lab.source.security is not None
    file = lab.source.security.password_file()
    summit["sasl.password"] = f"${{file:{file}}}"
    ldf["sasl.password"] = "${env:LDF_SECRET}"
    # A busy machine may make a probe late, of which nothing is asked here.
    (flow,) = data["flows"]
    flow["limits"] = {"canary": {"warning_window": "5s"}}
    data |= {"interval": "1s", "state": {"path": str(folder / "state.db")}}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(data))
    return config


def _with_source(config: Config, kafka: Mapping[str, str]) -> Config:
    alias = config.flows[0].source
    cluster = config.clusters[alias]
    changed = cluster.model_copy(update={"kafka": {**cluster.kafka, **kafka}})
    clusters = {**config.clusters, alias: changed}
    return config.model_copy(update={"clusters": clusters})
