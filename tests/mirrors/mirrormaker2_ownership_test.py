"""Which figures of a mirror are those of one flow."""

import pytest

from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    MBean,
    ProducerMetrics,
)
from mirrorwatch.domain.topics import Selection
from tests.mirrors.mbeans import DEFAULT, OURS, consumer, jolokia, of


def only(pattern: str) -> Selection:
    return Selection(include=(pattern,))


@pytest.mark.parametrize("alias", ["source_alias", "target_alias"])
def test_figures_of_another_pair_are_left_alone(alias: str) -> None:
    told = of(jolokia("4.3.1"), DEFAULT, **{alias: "elsewhere"})
    assert told.blank
    assert told.lags == {}
    assert told.producer.sends_per_second  # its name says no pair


def test_flows_of_one_pair_are_told_apart_by_topics_and_connectors() -> None:
    mbeans = jolokia("4.3.1")
    assert of(mbeans, DEFAULT, selection=only("nothing")).classes == {}
    assert set(of(mbeans, DEFAULT, selection=only("lsst.*")).classes) == {
        "mount"
    }
    other = of(mbeans, DEFAULT, connectors=("another",))
    assert other.consumer == ConsumerMetrics()
    assert other.producer == ProducerMetrics()
    assert other.states == ()


def test_an_own_client_id_stands_before_the_flow() -> None:
    told = of([consumer(f"mine|{OURS.format(3)}", fetch_rate=2)], DEFAULT)
    assert told.consumer.fetches_per_second == 2


def test_old_names_of_consumers_count_only_where_one_flow_runs() -> None:
    mbeans = [consumer("consumer-null-3", fetch_rate=2)]
    assert of(mbeans, DEFAULT).consumer.fetches_per_second == 2
    foreign = MBean(
        domain="kafka.connect.mirror",
        properties={
            "type": "MirrorSourceConnector",
            "target": "elsewhere",
            "topic": "summit.t",
            "partition": "0",
        },
        attributes={"record-rate": 1.0},
    )
    assert of([*mbeans, foreign], DEFAULT).consumer == ConsumerMetrics()
