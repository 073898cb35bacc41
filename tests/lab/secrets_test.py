"""Who gets into a secured lab, and where its passwords are."""

import stat
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from mirrorwatch.lab.lab import Lab
from mirrorwatch.lab.settings import CANARY_TOPIC, LabSettings
from tests.support.deeds import failure
from tests.support.rights import DENIED, of_canary, until

pytestmark = pytest.mark.lab


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


def refusal(client: Mapping[str, Any]) -> str | None:
    errors: list[KafkaError] = []
    own: dict[str, Any] = {"log_level": 0, "error_cb": errors.append}
    admin = AdminClient({**client, **own})
    try:
        admin.describe_cluster(request_timeout=2).result(10)
    except KafkaException as e:
        admin.poll(0.1)
        # All that the request itself knows is that nobody answered; why is
        # told to the callback.
        timed_out: KafkaError = e.args[0]
        return f"{timed_out.name()} {errors[0].name()}"
    return None


def test_the_agent_gets_in(lab: Lab) -> None:
    assert refusal(lab.source.client_properties()) is None
    assert refusal(lab.target.client_properties()) is None


def test_a_wrong_password_is_refused(lab: Lab) -> None:
    client = lab.source.client_properties() | {"sasl.password": "wrong"}
    assert refusal(client) == "_TIMED_OUT _AUTHENTICATION"


def test_the_password_of_one_site_is_none_at_the_other(lab: Lab) -> None:
    password = lab.source.client_properties()["sasl.password"]
    client = lab.target.client_properties() | {"sasl.password": password}
    assert refusal(client) == "_TIMED_OUT _AUTHENTICATION"


def test_a_client_that_does_not_know_the_authority_stays_out(
    lab: Lab,
) -> None:
    client = lab.source.client_properties()
    del client["ssl.ca.location"]
    assert refusal(client) == "_TIMED_OUT _SSL"


def test_the_lab_s_own_listener_wants_a_certificate(lab: Lab) -> None:
    client = lab.source.client_properties() | {
        "bootstrap.servers": lab.source.bootstrap,
        "security.protocol": "SSL",
    }
    # Told by an alert or only by a hang-up, whichever comes first.
    assert refusal(client) is not None


def test_users_outlive_a_crash_of_their_broker(lab: Lab) -> None:
    lab.source.kill()
    lab.source.start()
    assert refusal(lab.source.client_properties()) is None


def test_passwords_are_in_private_files_and_nowhere_else(lab: Lab) -> None:
    # The mirror must have said all that it says, the end of a run included.
    lab.mirror.stop()
    holders = set()
    for path in lab.folder.rglob("*"):
        if not path.is_file():
            continue
        content = path.read_bytes()
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
    lab.source.grants.grant([of_canary("READ"), of_canary("WRITE")])
    client = lab.target.client_properties()
    until(
        lambda: failure("READ", client, CANARY_TOPIC) is None,
        "The right to read did not appear at the target",
    )
    assert failure("WRITE", client, CANARY_TOPIC) == DENIED
