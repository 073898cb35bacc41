"""Strimzi's metrics reporter says what Jolokia does, of one mirror.

It is alone in its process: the JMX exporter has the same names in the same
registry, and then neither answers.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from mirrorwatch.sources.jmx.readers import JmxReader
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


@pytest.fixture
def ways(lab: Lab) -> Iterator[dict[str, JmxReader]]:
    opened = readers(lab)
    yield opened
    for way in opened.values():
        way.close()


def test_the_reporter_says_what_jolokia_says(
    lab: Lab, ways: dict[str, JmxReader]
) -> None:
    seen: list[tuple[list[Any], set[str]]] = []

    def agree() -> bool:
        compared = Comparison(ways)
        differences = [
            each
            for each in compared.differences
            # One runs in each direction, and JMX has one name for both.
            if "MirrorHeartbeatConnector" not in str(each)
        ]
        told = metrics(interpreter(lab, CLASSES), ways["reporter"])
        seen.append((differences, missing(told)))
        print(dict(compared.compared), "in try", len(seen))
        assert compared.compared["reporter", "exactly"] > 100
        return seen[-1] == ([], set())

    wait_until(agree, what=lambda: seen[-1])


def test_an_agent_reads_it(lab: Lab) -> None:
    urls = [lab.mirror.jmx.reporter_url]
    with watching(lab, "prometheus", urls, CLASSES) as watch:
        wait_until_well(watch)
