"""librdkafka's properties in the words of Java's client."""

from pathlib import Path

import pyspark
import pytest

from mirrorwatch.exceptions import ConfigError
from mirrorwatch_audit.connector import has_connector, pinned
from mirrorwatch_audit.digest.consumer import to_spark_options

PLAIN = {"bootstrap.servers": "kafka.summit:9092"}

LOGIN = PLAIN | {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanisms": "SCRAM-SHA-512",
    "sasl.username": "audit",
    "sasl.password": "p",
}

TLS = PLAIN | {"security.protocol": "SSL"}


def options(
    properties: dict[str, str], java: dict[str, str] | None = None
) -> dict[str, str]:
    return {
        name.removeprefix("kafka."): value
        for name, value in to_spark_options(properties, java or {}).items()
    }


def test_servers_go_by_either_name() -> None:
    other = {"metadata.broker.list": PLAIN["bootstrap.servers"]}
    for given in (PLAIN, other):
        assert options(given)["bootstrap.servers"] == "kafka.summit:9092"


def test_a_topic_is_never_made_by_reading_it() -> None:
    assert options(PLAIN)["allow.auto.create.topics"] == "false"


def test_properties_that_tune_librdkafka_are_left_out() -> None:
    tuned = PLAIN | {"queued.max.messages.kbytes": "1", "debug": "all"}
    assert options(tuned) == options(PLAIN)


def test_a_password_is_quoted_for_jaas() -> None:
    found = options(LOGIN | {"sasl.password": 'a"b\\c'})
    assert found["security.protocol"] == "SASL_PLAINTEXT"
    assert found["sasl.mechanism"] == "SCRAM-SHA-512"
    assert found["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="audit" password="a\\"b\\\\c";'
    )


@pytest.mark.parametrize("name", ["sasl.username", "sasl.password"])
def test_half_a_login_is_refused(name: str) -> None:
    half = {k: v for k, v in LOGIN.items() if k != name}
    with pytest.raises(ConfigError, match=rf"kafka\.{name}: is missing"):
        options(half)


MSK = LOGIN | {"sasl.mechanisms": "AWS_MSK_IAM"}


def test_a_login_of_javas_own_needs_no_other() -> None:
    own = {
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.IAMLoginModule required;",
    }
    found = options(MSK | {"sasl.future": "x"}, own)
    assert {k: v for k, v in found.items() if k.startswith("sasl")} == own
    assert found["security.protocol"] == "SASL_PLAINTEXT"


def test_brokers_know_an_audit_by_a_name_of_its_own() -> None:
    agent = PLAIN | {"client.id": "the-agent"}
    assert options(agent)["client.id"] == "mirrorwatch-audit"
    assert options(agent, {"client.id": "x"})["client.id"] == "x"


def test_properties_of_java_go_over_all_others() -> None:
    asked = {"fetch.max.bytes": "1048576", "client.rack": "east"}
    found = options(LOGIN | {"client.rack": "west"}, asked)
    assert asked.items() <= found.items()
    assert "sasl.jaas.config" in found


def test_certificates_and_keys_travel_as_they_are(tmp_path: Path) -> None:
    files = {
        name: tmp_path / f"{name}.pem" for name in ("ca", "certificate", "key")
    }
    for name, path in files.items():
        path.write_text(f"-----BEGIN PRIVATE KEY----- {name}")
    given = {f"ssl.{n}.location": str(path) for n, path in files.items()}
    found = options(TLS | given | {"ssl.key.password": "s"})
    assert found["ssl.truststore.type"] == found["ssl.keystore.type"] == "PEM"
    assert found["ssl.truststore.certificates"].endswith(" ca")
    assert found["ssl.keystore.certificate.chain"].endswith(" certificate")
    assert found["ssl.keystore.key"].endswith(" key")
    assert found["ssl.key.password"] == "s"
    assert found["ssl.endpoint.identification.algorithm"] == "https"


def test_names_of_brokers_need_not_be_checked() -> None:
    loose = TLS | {"ssl.endpoint.identification.algorithm": "none"}
    assert options(loose)["ssl.endpoint.identification.algorithm"] == ""


@pytest.mark.parametrize(
    ("given", "name", "message"),
    [
        (MSK, "sasl.mechanisms", "set all ssl"),
        (LOGIN | {"sasl.mechanism": "GSSAPI"}, "sasl.mechanism", "set all"),
        (TLS | {"ssl.keystore.location": "x"}, "ssl.keystore.location", "set"),
        (TLS | {"ssl.ca.location": "/no.pem"}, "ssl.ca.location", "No such"),
        (TLS | {"ssl.ca.location": "/"}, "ssl.ca.location", "a directory"),
    ],
)
def test_what_is_not_translated_is_refused_by_name(
    given: dict[str, str], name: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        options(given)
    assert str(refused.value).startswith(f"kafka.{name}: ")


def test_a_connector_among_sparks_own_jars_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image, into which it was copied."""
    jars = tmp_path / "jars"
    jars.mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert not has_connector()
    for artifact in pinned(pyspark.__version__):
        (jars / artifact.file_name).touch()
    assert has_connector()


def test_a_connector_under_its_plain_name_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark's own distributions for Kafka have it."""
    jars = tmp_path / "jars"
    jars.mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (jars / "spark-sql-kafka-0-10_2.13-4.0.0.jar").touch()
    assert has_connector()
