"""`mirrorwatch doctor` on labs that are broken in one way each."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from mirrorwatch.config import Config
from mirrorwatch.doctor import Diagnosis, examine
from mirrorwatch.domain.doctor import FindingSeverity
from mirrorwatch.wiring.context import find_rights
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.broken_setups import (
    CARRIED,
    ORDERS,
    SEEN,
    SETUPS,
    BrokenSetup,
    Scene,
)
from tests.support.newcomer import (
    describe_strimzi,
    find_properties,
    put_secrets,
    without,
)
from tests.support.rights import RIGHTS, expect, site
from tests.support.secured import secrets, secured
from tests.support.watch import PATIENT, describe, wait_until

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


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 6, ORDERS: 1}
    with Lab(secured(topics=topics)) as lab:
        for side, place in (("source", lab.source), ("target", lab.target)):
            place.grants.grant([r for r in RIGHTS if r.side == side])
        for right in (SEEN, *CARRIED):
            site(lab, right).grants.grant([right])
        for right in (*RIGHTS, SEEN, *CARRIED):
            expect(lab, right, None)
        # Only then the mirror's filter is known to whoever may read it.
        wait_until(lambda: not errors(diagnose(sound(lab))))
        yield lab


def sound(lab: Lab) -> Data:
    # Large probes are what needs DESCRIBE_CONFIGS.
    return describe(lab, canary={"sized": {"bytes": 1000}})


def doctor(data: Data, folder: Path) -> dict[str, Any]:
    """Run the command in a process of its own; return what it prints."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(data))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mirrorwatch", "doctor"),
            *("--config", file, "--json"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENT,
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if found["ok"] else 1), done.stderr
    found["printed"] = done.stdout + done.stderr
    return found


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.long] * one.long)
        for one in SETUPS
    ],
)
def test_a_broken_setup_has_one_cause(
    lab: Lab, tmp_path: Path, broken: BrokenSetup
) -> None:
    data = sound(lab)
    with ExitStack() as stack:
        broken.breaks(Scene(lab=lab, data=data, stack=stack, folder=tmp_path))
        found = doctor(data, tmp_path)
    said = [
        f
        for f in found["findings"]
        if f["severity"] == "error"
        or (broken.warning and f["check"] == broken.check)
    ]
    assert len(said) == 1, said
    (one,) = said
    assert one["severity"] == ("warning" if broken.warning else "error"), one
    assert (one["subject"], one["check"]) == (broken.subject, broken.check)
    assert broken.cause in one["cause"], one
    assert broken.remedy in one["remedy"], one
    assert found["seconds"] < WITHIN
    printed = found["printed"]
    assert not any(secret in printed for secret in (*secrets(lab), "hunter2"))
    if broken.name == "frozen broker":
        wait_until(lambda: not errors(diagnose(sound(lab))))


def test_there_are_many_broken_setups() -> None:
    names = {one.name for one in SETUPS}
    assert len(names) == len(SETUPS) >= 25


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


@pytest.mark.parametrize(
    "form", [pytest.param("strimzi", marks=pytest.mark.long), "properties"]
)
def test_a_newcomer_edits_nothing_but_puts_the_secrets(
    lab: Lab, tmp_path: Path, form: str
) -> None:
    config, folder = tmp_path / "written.yaml", tmp_path / "secrets"
    begin = time.monotonic()
    given, output = find_properties(lab), "--output"
    if form == "strimzi":
        # The other commands take the values of the chart too.
        given, output = describe_strimzi(lab, tmp_path), "--helm"
    places = ("--secrets", folder, output, config)
    made = run("init", f"--from-{form}", given, *places)
    assert made.exit_code == 0, made.output
    assert "mirror's filter" not in made.stderr
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
    text = config.read_text()
    said = made.output + text
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
    # Granting and taking rights away is the test's own, and counted, too.
    seconds = time.monotonic() - begin
    edits = 1 + (config.read_text() != text)
    print(  # shown by pytest -rP
        f"From {form}: the first true verdict after {seconds:.0f} s and "
        f"{edits} edit ({len(wanted)} files of secrets)"
    )
    assert edits == 1
    assert not any(secret in said for secret in secrets(lab))
