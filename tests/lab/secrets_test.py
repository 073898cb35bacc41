"""Who gets into a secured lab, and where its passwords are."""

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from mirrorwatch_lab.lab import Lab
from mirrorwatch_lab.settings import CANARY_TOPIC, LabSettings
from tests.support.deeds import failure
from tests.support.rights import DENIED, READ_SOURCE, WRITE, until

# The lab's own: `secured_agent_test` has the agent's.
pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(secured=True, intervals="fast")) as lab:
        yield lab


def secrets(lab: Lab) -> list[bytes]:
    found = [
        secret.encode()
        for site in (lab.source, lab.target)
        if site.security
        for secret in site.security.secrets
    ]
    assert len(found) == 4
    return found


REFUSALS = {"_AUTHENTICATION", "_SSL"}
"""Errors after which no other try gets in."""


def files_below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            if path.is_file():
                yield path


def refusal(client: Mapping[str, Any], seconds: float = 90) -> str | None:
    """Return why a client is not let in, or `None` once it is."""
    errors: list[KafkaError] = []
    own: dict[str, Any] = {"log_level": 0, "error_cb": errors.append}
    admin = AdminClient({**client, **own})
    answer = admin.describe_cluster(request_timeout=seconds)
    while not answer.done():
        # All that the request itself will know is that nobody answered; why
        # is told to the callback.
        admin.poll(0.1)
        for error in errors:
            if error.name() in REFUSALS:
                return error.name()
    try:
        answer.result()
    except KafkaException as e:
        timed_out: KafkaError = e.args[0]
        return timed_out.name()
    return None


def test_the_agent_gets_in(lab: Lab) -> None:
    assert refusal(lab.source.client_properties()) is None
    assert refusal(lab.target.client_properties()) is None


def test_a_wrong_password_is_refused(lab: Lab) -> None:
    client = lab.source.client_properties() | {"sasl.password": "wrong"}
    assert refusal(client) == "_AUTHENTICATION"


def test_the_password_of_one_site_is_none_at_the_other(lab: Lab) -> None:
    password = lab.source.client_properties()["sasl.password"]
    client = lab.target.client_properties() | {"sasl.password": password}
    assert refusal(client) == "_AUTHENTICATION"


def test_a_client_that_does_not_know_the_authority_stays_out(
    lab: Lab,
) -> None:
    client = lab.source.client_properties()
    del client["ssl.ca.location"]
    assert refusal(client) == "_SSL"


def test_the_lab_s_own_listener_wants_a_certificate(lab: Lab) -> None:
    client = lab.source.client_properties() | {
        "bootstrap.servers": lab.source.bootstrap,
        "security.protocol": "SSL",
    }
    # Told by an alert or only by a hang-up, whichever comes first.
    assert refusal(client, seconds=10) is not None


def test_users_outlive_a_crash_of_their_broker(lab: Lab) -> None:
    lab.source.kill()
    lab.source.start()
    assert refusal(lab.source.client_properties()) is None


def test_passwords_are_in_private_files_and_nowhere_else(lab: Lab) -> None:
    # The mirror must have said all that it says, the end of a run included.
    lab.mirror.stop()
    holders = set()
    for path in files_below(lab.folder):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue  # brokers make some for a moment
        if any(secret in content for secret in secrets(lab)):
            holders.add(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {str(path.relative_to(lab.folder)) for path in holders} == {
        f"security/{site}/{name}"
        for site in ("summit", "ldf")
        for name in (
            "mirror.password",
            "mirror.properties",
            "mirrorwatch.password",
        )
    }
    lab.mirror.start()


def test_private_keys_are_private(lab: Lab) -> None:
    for path in (lab.folder / "security").rglob("*.pem"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_passwords_are_in_no_process_list(lab: Lab) -> None:
    listed = subprocess.run(
        ["ps", "axwwe", "-o", "args"],  # noqa: S607
        capture_output=True,
        check=True,
    ).stdout
    assert str(lab.folder).encode() in listed
    assert not any(secret in listed for secret in secrets(lab))


def test_the_mirror_s_passwords_are_references_in_its_own_topics(
    lab: Lab,
) -> None:
    records = lab.target.topics.read("mm2-configs.summit.internal")
    values = [message.value() or b"" for message in records]
    assert any(b"mirror.properties:password}" in value for value in values)
    assert not any(s in value for s in secrets(lab) for value in values)


def test_the_mirror_copies_rights_to_read_but_none_to_write(
    lab: Lab,
) -> None:
    lab.source.grants.grant([READ_SOURCE, WRITE])
    client = lab.target.client_properties()
    until(
        lambda: failure("READ", client, CANARY_TOPIC) is None,
        "The right to read did not appear at the target",
    )
    until(
        lambda: failure("WRITE", client, CANARY_TOPIC) == DENIED,
        "The right to write is not denied",
    )
