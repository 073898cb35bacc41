"""`mirrorwatch doctor` on labs that are broken in one way each."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog
import trustme
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from mirrorwatch.cli.acls import find_rights
from mirrorwatch.config import Config
from mirrorwatch.doctor import Diagnosis, examine
from mirrorwatch.domain.acls import Right
from mirrorwatch.domain.doctor import FindingSeverity
from mirrorwatch_lab import Lab
from tests.support.newcomer import (
    describe_strimzi,
    find_properties,
    put_secrets,
    without,
)
from tests.support.rights import DENIED, RIGHTS, expect
from tests.support.secured import secrets, secured, taken
from tests.support.tcp import black_hole, closed_port, frozen
from tests.support.watch import describe, wait_until

pytestmark = pytest.mark.lab

WITHIN = 10.0
"""Seconds after which somebody who waits knows."""

Data = dict[str, Any]


def diagnose(data: Data) -> Diagnosis:
    config = Config.from_mapping(data)
    return examine(config, logger=structlog.get_logger("mirrorwatch"))


def errors(found: Diagnosis) -> list[str]:
    return [
        f"{f.subject} {f.check}: {f.cause}. {f.remedy}"
        for f in found.findings
        if f.severity is FindingSeverity.ERROR
    ]


def shown(found: Diagnosis) -> str:
    return "\n".join(map(str, found.findings))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(secured()) as lab:
        for side, place in (("source", lab.source), ("target", lab.target)):
            place.grants.grant([r for r in RIGHTS if r.side == side])
        for right in RIGHTS:
            expect(lab, right, None)
        # Only then the mirror's filter is known to whoever may read it.
        wait_until(lambda: not errors(diagnose(sound(lab))))
        yield lab


def sound(lab: Lab) -> Data:
    # Large probes are what needs DESCRIBE_CONFIGS.
    return describe(lab, canary={"sized": {"bytes": 1000}})


def kafka(data: Data) -> dict[str, str]:
    found: dict[str, str] = data["clusters"]["summit"]["kafka"]
    return found


def port_of(data: Data) -> str:
    return kafka(data)["bootstrap.servers"].rpartition(":")[2]


def at(data: Data, port: int, host: str = "127.0.0.1") -> None:
    kafka(data)["bootstrap.servers"] = f"{host}:{port}"


def wrong_port(data: Data, _: ExitStack, __: Path) -> None:
    at(data, closed_port())


def wrong_name(data: Data, _: ExitStack, __: Path) -> None:
    at(data, 9092, "no-such-host.invalid")


def a_black_hole(data: Data, stack: ExitStack, _: Path) -> None:
    at(data, stack.enter_context(black_hole()))


def a_frozen_broker(data: Data, stack: ExitStack, _: Path) -> None:
    at(data, stack.enter_context(frozen()))


def wrong_ca(data: Data, _: ExitStack, folder: Path) -> None:
    file = folder / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    kafka(data)["ssl.ca.location"] = str(file)


def wrong_host_name(data: Data, _: ExitStack, __: Path) -> None:
    at(data, int(port_of(data)), "localhost")


def wrong_password(data: Data, _: ExitStack, __: Path) -> None:
    kafka(data)["sasl.password"] = "hunter2hunter2"


def wrong_user(data: Data, _: ExitStack, __: Path) -> None:
    kafka(data)["sasl.username"] = "nobody"


def wrong_mechanism(data: Data, _: ExitStack, __: Path) -> None:
    kafka(data)["sasl.mechanism"] = "PLAIN"


def no_tls(data: Data, _: ExitStack, __: Path) -> None:
    kafka(data)["security.protocol"] = "SASL_PLAINTEXT"


def no_login(data: Data, _: ExitStack, __: Path) -> None:
    for key in ("sasl.mechanism", "sasl.username", "sasl.password"):
        del kafka(data)[key]
    kafka(data)["security.protocol"] = "SSL"


def other_cluster(data: Data, _: ExitStack, __: Path) -> None:
    data["clusters"]["summit"]["cluster_id"] = "anotherclusterXXXXXXXX"


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (wrong_port, "tcp: cannot reach 127.0.0.1:"),
        (wrong_name, "dns: the name no-such-host.invalid cannot be resolved"),
        (a_black_hole, "no answer within 3 s"),
        (a_frozen_broker, "but does not answer TLS"),
        (wrong_ca, "is not signed by the CA in clusters.summit.kafka"),
        (wrong_host_name, "is for 127.0.0.1, not for localhost"),
        (wrong_password, "sasl: summit rejects mirrorwatch's credentials"),
        (wrong_user, "sasl: summit rejects mirrorwatch's credentials"),
        (wrong_mechanism, "does not offer SASL mechanism PLAIN, only SCRAM"),
        (no_tls, "requires TLS. Set clusters.summit.kafka.security"),
        (no_login, "requires a SASL login (SCRAM-SHA-512)"),
        (other_cluster, "not anotherclusterXXXXXXXX"),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_a_connection_that_fails_has_one_cause(
    lab: Lab,
    tmp_path: Path,
    broken: Callable[[Data, ExitStack, Path], None],
    words: str,
) -> None:
    data = sound(lab)
    with ExitStack() as stack:
        broken(data, stack, tmp_path)
        found = diagnose(data)
    (error,) = errors(found)
    assert error.startswith("cluster summit ")
    assert words in error
    assert found.seconds < WITHIN
    assert not any(secret in shown(found) for secret in secrets(lab))


@pytest.mark.long
@pytest.mark.parametrize("right", RIGHTS, ids=lambda r: f"{r.side}: {r}")
def test_each_right_that_is_missing_is_named_alone(
    lab: Lab, right: Right
) -> None:
    alias = "summit" if right.side == "source" else "ldf"
    with taken(lab, right):
        expect(lab, right, DENIED)
        found = diagnose(sound(lab))
    expect(lab, right, None)
    rights = [f for f in found.findings if f.reference == "docs/security.md"]
    (one,) = rights
    assert one.cause == f"mirrorwatch lacks {right} at {alias}"
    assert "kafka-acls.sh --add --topic " in one.remedy
    assert len(errors(found)) == (one.severity is FindingSeverity.ERROR)
    assert found.seconds < WITHIN


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


@pytest.mark.parametrize("form", ["strimzi", "properties"])
def test_a_newcomer_edits_nothing_but_puts_the_secrets(
    lab: Lab, tmp_path: Path, form: str
) -> None:
    config, folder = tmp_path / "mirrorwatch.yaml", tmp_path / "secrets"
    given = find_properties(lab)
    if form == "strimzi":
        given = describe_strimzi(lab, tmp_path)
    places = ("--secrets", folder, "--output", config)
    made = run("init", f"--from-{form}", given, *places)
    assert made.exit_code == 0, made.output
    assert "carries the canary topic as it is" in made.stderr
    assert "Not known" not in made.stderr
    wanted = {"summit-password", "summit-ca.crt", "ldf-password", "ldf-ca.crt"}
    put_secrets(lab, folder)  # the one edit
    assert {file.name for file in folder.iterdir()} == wanted
    checked = run("check-config", "--config", config)
    assert checked.exit_code == 0, checked.output
    rights = [
        right
        for found in find_rights(Config.from_file(config)).values()
        for right in found
    ]
    said = made.output + config.read_text()
    with without(lab, *rights):
        # Brokers learn of rights a moment after they were granted.
        wait_until(
            lambda: run("doctor", "--config", config).exit_code == 0,
            what=lambda: run("doctor", "--config", config).output,
        )
        once = ("once", "--config", config, "--for", "20s", "--json")

        def is_true() -> bool:
            output = run(*once).stdout
            (flow,) = json.loads(output)["flows"]
            checks = {c["check"]: c for c in flow["verdicts"]}
            return bool(checks["canary"]["health"] == "ok")

        wait_until(is_true)
    assert not any(secret in said for secret in secrets(lab))
