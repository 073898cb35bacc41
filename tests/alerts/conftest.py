"""A Kapacitor that all tests of the alerts on flows share."""

from collections.abc import Iterator

import pytest

from mirrorwatch_alerting.kapacitor import scripts
from tests.support.kapacitor import HURRIED, AlertingKapacitor

FLOW = "mirrorwatch-flow"


@pytest.fixture(scope="session")
def judging_kapacitor(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[AlertingKapacitor]:
    """Each test has flows of its own."""
    server = AlertingKapacitor(
        tmp_path_factory.mktemp("kapacitor"), {FLOW: scripts(HURRIED)[FLOW]}
    )
    try:
        server.start()
        server.install()
        yield server
    finally:
        server.kill()


@pytest.fixture
def kapacitor(
    judging_kapacitor: AlertingKapacitor,
) -> Iterator[AlertingKapacitor]:
    yield judging_kapacitor
    assert judging_kapacitor.problems == []
