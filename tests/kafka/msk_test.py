"""Login to Amazon MSK by IAM, with AWS's signer replaced."""

import sys
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.config.kafka import KafkaProperties
from mirrorwatch.config.notes import find_client_faults
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.errors import consumer_properties
from mirrorwatch.msk import with_login
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow


BROKER = "b-1.site.abc.c2.kafka.eu-west-1.amazonaws.com.invalid:9098"
MSK = {
    "bootstrap.servers": BROKER,
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Regions for which a token was asked: each lives for three seconds."""
    asked: list[str] = []

    def generate_auth_token(region: str) -> tuple[str, int]:
        asked.append(region)
        until = utc_now() + timedelta(seconds=3)
        return "token-hunter", int(until.timestamp() * 1000)

    provider = SimpleNamespace(generate_auth_token=generate_auth_token)
    module = SimpleNamespace(MSKAuthTokenProvider=provider)
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", module)
    return asked


def test_other_logins_are_as_they_are() -> None:
    plain = {"bootstrap.servers": BROKER, "sasl.mechanism": "PLAIN"}
    assert with_login(plain) == plain


@pytest.mark.parametrize("kind", ["admin", "consumer", "producer"])
def test_every_client_gets_a_token_and_the_next_in_time(
    asked: list[str], kind: str
) -> None:
    client: Any
    if kind == "admin":
        client = Cluster("msk", MSK)
    elif kind == "consumer":
        client = Consumer(consumer_properties(MSK, read_committed=True))
    else:
        client = Producer({**with_login(MSK), "log_level": 0})
    # Nobody polls it: an agent that only waits must stay logged in.
    wait_until(lambda: len(asked) >= 2)
    assert set(asked) == {"eu-west-1"}
    if kind == "consumer":
        client.close()


def faults(**changed: str) -> list[str]:
    found = find_client_faults(KafkaProperties(MSK | changed))
    return [f"{p.path[0]} {p.message}" for p in found]


@pytest.mark.usefixtures("asked")
def test_the_configuration_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults() == []
    (one,) = faults(**{"security.protocol": "SASL_PLAINTEXT"})
    assert "needs security.protocol SASL_SSL" in one
    own = {"bootstrap.servers": "kafka.example.org:9098"}
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    (one,) = faults(**own)
    assert "set the environment variable AWS_REGION" in one
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert faults(**own) == []


def test_without_the_signer_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    (one,) = faults()
    assert "pip install '.[msk-iam]'" in one
    with pytest.raises(ConfigError, match="msk-iam"):
        Cluster("msk", MSK)
