"""What brokers see of an audit: its login by a token, and its client's id."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from mirrorwatch.clock import utc_now
from mirrorwatch.state.audits import read_audits
from mirrorwatch_lab import Lab, LabSettings
from tests.support.audit_run import (
    AuditCommand,
    last_value,
    records,
    write,
)
from tests.support.kafka_tools import KafkaTools
from tests.support.lab import copied

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(3600)]

TOPIC = "told"

RECORDS = 30_000

VALUE = b"%01000d"
"""Of a thousand bytes: 30 MB in all."""

LOGIN = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule "
    'required unsecuredLoginStringClaim_sub="broker";'
)

TOKENS = {
    "listener.security.protocol.map": (
        "DIRECT:PLAINTEXT,MIRROR:PLAINTEXT,AGENT:SASL_PLAINTEXT,"
        "CONTROLLER:PLAINTEXT"
    ),
    "listener.name.agent.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.agent.oauthbearer.sasl.jaas.config": LOGIN,
}
"""The listener of the agent wants tokens, of which Kafka's own handler takes
such as have no signature."""

CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "enable.sasl.oauthbearer.unsecure.jwt": True,
    "sasl.oauthbearer.config": "principal=audit",
}

RATE = 1_000_000
"""Bytes a second that the quota allows: far below what any machine reads."""

WINDOW_SECONDS = 11
"""Kafka counts by 11 samples of a second, and grants a window at once."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        intervals="fast", topics={TOPIC: 1}, source_properties=TOKENS
    )
    with Lab(settings) as lab:
        begin = utc_now().replace(microsecond=0) - timedelta(hours=1)
        written = [
            record | {"value": VALUE % number}
            for number, record in enumerate(records(begin, 0, RECORDS))
        ]
        write(lab.source.bootstrap, TOPIC, written)
        copied(lab, TOPIC, last_value(written))
        yield lab


@pytest.fixture
def audit(lab: Lab, tmp_path: Path) -> AuditCommand:
    audit = AuditCommand(lab, tmp_path, [TOPIC])
    data = yaml.safe_load(audit.config.read_text())
    data["clusters"]["summit"]["kafka"].update(CLIENT)
    audit.config.write_text(yaml.safe_dump(data))
    return audit


def read_rate(audit: AuditCommand, *arguments: str) -> float:
    """Return the bytes a second of a clean night, of both sides."""
    ran = audit("run", "--json", *arguments)
    assert ran.status == 0, ran.errors
    (topic,) = ran.document["topics"]
    assert topic["source_count"] == topic["target_count"] == RECORDS
    (finished,) = read_audits(audit.folder / "audit")
    speed = finished.speed
    rate = speed.bytes / speed.reading.total_seconds()
    print(f"{speed.bytes} bytes, {rate / 1e6:.2f} MB/s")
    return rate


def test_a_quota_for_its_client_holds_the_rate_of_an_audit_by_tokens(
    lab: Lab, audit: AuditCommand
) -> None:
    tools = KafkaTools(lab.source.bootstrap)
    free = read_rate(audit)

    tools.limit("mirrorwatch-audit", RATE)
    (audit.folder / "slow").mkdir()
    slow = AuditCommand(lab, audit.folder / "slow", [TOPIC])
    slow.config.write_text(
        audit.config.read_text().replace(
            str(audit.folder / "state.db"), str(slow.folder / "state.db")
        )
    )
    held = read_rate(slow)

    size = RECORDS * len(VALUE % 0)
    least = size / RATE - WINDOW_SECONDS
    # Of two sides, one is held.
    assert held <= 2 * size / least
    assert free > held
