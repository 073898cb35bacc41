"""Strimzi's metrics reporter says what Jolokia does, of one mirror.

It is alone in its process: the JMX exporter has the same names in the same
registry, and then neither answers.
"""

from collections.abc import Iterator

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.traffic import TRAFFIC_TOPICS, Traffic
from tests.support.group import Group
from tests.support.jmx import (
    Comparison,
    interpreter,
    metrics,
    missing,
    readers,
    wait_until_well,
    watching,
)
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

CLASSES = {"traffic": "lsst[.].*"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        naming="default",
        intervals="fast",
        topics={CANARY_TOPIC: 2, **TRAFFIC_TOPICS},
        jmx=("reporter",),
    )
    with (
        Lab(settings) as lab,
        Traffic(lab.source.client_properties()),
        Group(lab, list(TRAFFIC_TOPICS)),
    ):
        yield lab


def test_the_reporter_says_what_jolokia_says(lab: Lab) -> None:
    ways = readers(lab)
    tries: list[Comparison] = []
    gone: list[set[str]] = []

    def agree() -> bool:
        tries.append(Comparison(ways))
        told = metrics(interpreter(lab, CLASSES), ways["reporter"])
        gone.append(missing(told))
        return tries[-1].differences == [] and gone[-1] == set()

    wait_until(agree, what=lambda: (tries[-1].differences, gone[-1]))
    for way in ways.values():
        way.close()
    print(dict(tries[-1].compared), "in try", len(tries))
    assert tries[-1].compared["reporter", "exactly"] > 100


def test_an_agent_reads_it(lab: Lab) -> None:
    urls = [lab.mirror.jmx.reporter_url]
    with watching(lab, "prometheus", urls, CLASSES) as watch:
        wait_until_well(watch)
