"""The jars of a lab."""

import pytest

from mirrorwatch_lab.exceptions import LabError
from mirrorwatch_lab.process import KAFKA_VERSIONS, manifest


@pytest.mark.parametrize("kafka", KAFKA_VERSIONS)
def test_every_jar_is_pinned_by_version_and_checksum(kafka: str) -> None:
    jars = manifest(kafka)
    names = {jar.name for jar in jars}
    assert {"kafka_2.13", "connect-mirror", "jolokia-agent-jvm"} <= names
    assert all(len(jar.sha256) == 64 for jar in jars)
    assert len({jar.file_name for jar in jars}) == len(jars)
    (broker,) = (jar for jar in jars if jar.name == "kafka_2.13")
    assert broker.version == kafka


def test_a_version_without_jars_is_refused() -> None:
    with pytest.raises(LabError, match=r"there is one for 4\.3\.1, 3\.9\.2"):
        manifest("0.8.2")
