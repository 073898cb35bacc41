"""MBeans of real mirrors and made ones, and what a flow makes of them."""

import json
import re
from dataclasses import replace
from pathlib import Path

from mirrorwatch.domain.bottleneck.model import (
    MBean,
    MirrorMetrics,
    parse_name,
)
from mirrorwatch.domain.topics import (
    DefaultNaming,
    IdentityNaming,
    Naming,
    Selection,
)
from mirrorwatch.mirrors.mirrormaker2_jmx import (
    WANTED,
    MirrorMaker2Jmx,
    Ownership,
)
from mirrorwatch.sources.jmx.readers import parse

__all__ = [
    "DEFAULT",
    "IDENTITY",
    "OURS",
    "a_flow",
    "consumer",
    "exporter",
    "jolokia",
    "of",
    "without",
]

DATA = Path(__file__).parents[1] / "data" / "jmx"
DEFAULT = DefaultNaming(alias="summit")
IDENTITY = IdentityNaming(alias="summit")
OURS = "summit->ldf|MirrorSourceConnector-{}|replication-consumer"


def jolokia(version: str) -> list[MBean]:
    """Return what a real Jolokia answered, as the reader gives it."""
    answers = json.loads((DATA / f"jolokia-{version}.json").read_text())
    found = []
    for want, part in zip(WANTED, answers, strict=True):
        value = part.get("value", {})
        named = value if want.keys else {want.pattern: value}
        for name, attributes in named.items():
            domain, properties = parse_name(name)
            found.append(
                MBean(
                    domain=domain,
                    properties=properties,
                    attributes=want.take(attributes),
                )
            )
    return found


def exporter(rules: str, version: str) -> list[MBean]:
    """Return what a real Prometheus exporter answered, by its rules."""
    text = (DATA / f"exporter-{rules}-{version}.txt").read_text()
    return parse(text, WANTED)


def consumer(client: str, **figures: float) -> MBean:
    """Return what the consumer of a task tells of itself."""
    return MBean(
        domain="kafka.consumer",
        properties={
            "type": "consumer-fetch-manager-metrics",
            "client-id": client,
        },
        attributes={k.replace("_", "-"): float(v) for k, v in figures.items()},
    )


def without(mbean: MBean, name: str) -> MBean:
    """Return an MBean that lacks an attribute."""
    kept = {k: v for k, v in mbean.attributes.items() if k != name}
    return replace(mbean, attributes=kept)


def a_flow(naming: Naming, **more: object) -> MirrorMaker2Jmx:
    """Return what reads the figures of a flow from summit to ldf."""
    own = Ownership(
        source_alias="summit",
        target_alias="ldf",
        naming=naming,
        selection=Selection(),
    )
    return MirrorMaker2Jmx(
        own=replace(own, **more),  # type: ignore[arg-type]
        classes={"mount": re.compile(r"lsst[.]sal[.].*")},
    )


def of(mbeans: list[MBean], naming: Naming, **more: object) -> MirrorMetrics:
    """Return what the MBeans of one worker say of such a flow."""
    return a_flow(naming, **more).metrics({"worker": mbeans})
