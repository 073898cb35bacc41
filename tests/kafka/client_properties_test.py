"""What every Kafka client of the agent begins with."""

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from mirrorwatch.kafka import admin
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.errors import consumer_properties

pytestmark = pytest.mark.slow


PLAIN = {"bootstrap.servers": "localhost:1"}


def given_to(
    kind: str, properties: Mapping[str, str], patch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return what the library's client was made with."""
    given: dict[str, Any] = {}

    def make_admin(settings: dict[str, Any]) -> AdminClient:
        given.update(settings)
        return AdminClient(settings)

    if kind == "consumer":
        return consumer_properties(properties, read_committed=True)
    patch.setattr(admin, "AdminClient", make_admin)
    Cluster("summit", properties)
    return given


@pytest.mark.parametrize("kind", ["admin", "consumer"])
def test_no_client_measures_itself_unless_the_configuration_says_so(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = given_to(kind, PLAIN, monkeypatch)
    assert plain["enable.metrics.push"] == "false"
    pushed = PLAIN | {"enable.metrics.push": "true"}
    assert given_to(kind, pushed, monkeypatch)["enable.metrics.push"] == "true"
    assert plain["client.id"] == "mirrorwatch"
