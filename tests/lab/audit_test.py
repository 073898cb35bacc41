"""The audit command on a real mirror, with faults at exact places."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
import yaml

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, TARGET, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.audit_run import (
    FAULTS,
    AuditCommand,
    Ran,
    counts,
    found,
    inject,
    last_value,
    records,
    write,
)
from tests.support.lab import copied
from tests.support.resets import positions_of, set_position
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]

CLEAN = {"clean.telemetry": 2000, "clean.events": 300, "clean.empty": 0}

KILLED_AFTER = 8
"""Seconds, in which Spark has started and has not come to its end."""

KILLED = "killed"
"""What was copied to it, the mirror had not committed when it was killed."""

COPIED_TWICE = 30


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    names = (*CLEAN, *FAULTS, KILLED)
    topics = {CANARY_TOPIC: 1} | dict.fromkeys(names, 1)
    settings = LabSettings(intervals="fast", topics=topics, start_mirror=False)
    with Lab(settings) as lab:
        yield lab


@dataclass(frozen=True)
class Written:
    """What was written, and when."""

    audit: AuditCommand
    window: tuple[str, ...]


@pytest.fixture(scope="module")
def written(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Every topic with its records and its fault, all copied."""
    # Within one hour, so that every record has a bucket of its own kind.
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    copy_twice(lab, begin)
    for topic, count in CLEAN.items():
        write(lab.source.bootstrap, topic, records(begin, 0, count))
    inject(lab, FAULTS, begin)
    for topic, count in CLEAN.items():
        copied(lab, topic, last_value(records(begin, 0, count)))
    end = begin + timedelta(minutes=1)
    folder = tmp_path_factory.mktemp("audit")
    return Written(
        audit=AuditCommand(
            lab, folder, [*CLEAN, *FAULTS, KILLED], few_records=True
        ),
        window=("--from", begin.isoformat(), "--to", end.isoformat()),
    )


def copy_twice(lab: Lab, begin: datetime) -> None:
    """Kill the mirror between its copy and its commit."""
    never = {f"{TARGET}.offset.flush.interval.ms": "3600000"}
    lab.mirror.start(drop_marked() | never)
    once = records(begin, 0, COPIED_TWICE)
    write(lab.source.bootstrap, KILLED, once)
    copied(lab, KILLED, last_value(once))
    lab.mirror.kill()
    if positions_of(lab, KILLED):
        # On a busy machine its tasks may have been given their partitions
        # anew meanwhile, and tasks that end commit.
        set_position(lab, KILLED, None)
    lab.mirror.start(drop_marked())
    wait_until(
        lambda: len(lab.read("target", KILLED)) == 2 * COPIED_TWICE,
        what=lambda: f"{len(lab.read('target', KILLED))} copies",
    )


@pytest.mark.long
def test_a_clean_window_is_clean_and_every_record_is_counted(
    written: Written,
) -> None:
    ran = written.audit(
        "run", *written.window, "--topics", "clean[.].*", "--json"
    )

    assert ran.status == 0
    document = ran.document
    assert (document["findings"], document["unverifiable"]) == ([], [])
    assert counts(ran) == {
        name: (count, count) for name, count in CLEAN.items()
    }


@pytest.fixture(scope="module")
def whole(written: Written) -> Ran:
    """One run over all topics, with its report."""
    return written.audit(
        "run", *written.window, "--json", "--html", "report.html"
    )


def test_every_fault_is_named_with_its_kind_and_offsets(
    written: Written, whole: Ran
) -> None:
    assert whole.status == 3
    assert whole.document["unverifiable"] == []
    again = [[COPIED_TWICE, 2 * COPIED_TWICE - 1]]
    first = [[0, COPIED_TWICE - 1]]
    wanted = {topic: fault.found for topic, fault in FAULTS.items()}
    wanted[KILLED] = (("duplicated", COPIED_TWICE, first, again),)
    assert found(whole) == wanted
    report = written.audit.folder / "report.html"
    page = report.read_text()
    assert "61 records dropped" in page


NIGHTS = ("2026-11-01", "2026-11-02", "2026-11-03")

CHAIN = ("clean.telemetry", "dropped", "doubled")


@pytest.mark.long
@pytest.mark.usefixtures("written")
def test_three_nights_of_two_sites_find_what_one_run_finds(
    lab: Lab, tmp_path: Path
) -> None:
    audit = AuditCommand(lab, tmp_path, CHAIN, few_records=True)
    begin = utc_now().replace(microsecond=0)
    for night, date in enumerate(NIGHTS):
        if night:
            write_more(lab, begin, night)
        single = audit("run", "--date", date, "--out", "single", "--json")
        frozen = audit("freeze", "plan", "--date", date)
        assert frozen.status == 0
        if night == 1:
            killed = start_digest(audit, "target")
            killed_soon(killed)
        begun = [start_digest(audit, side) for side in ("source", "target")]
        for process in begun:
            digested = audit.end(process)
            assert digested.status == 0
            assert re.search(r"[\d.]+ % of what was read", digested.output)
        both = audit("compare", "digest-source", "digest-target", "--json")
        assert (both.status, found(both)) == (3, found(single))
        assert counts(both) == counts(single)
        for key in ("topics", "findings", "unverifiable"):
            assert both.document[key] == single.document[key]
        assert found(both)["dropped"]


def write_more(lab: Lab, begin: datetime, night: int) -> None:
    """Write what the next night compares, of which the mirror drops one."""
    more = records(begin, 10_000 * night, 500)
    lost = {"value": b"lost", "headers": {MARK: b"x"}, "key": b"lost"}
    for topic in ("clean.telemetry", "dropped"):
        dropped = [lost] if topic == "dropped" else []
        write(lab.source.bootstrap, topic, [*more[:9], *dropped, *more[9:]])
        copied(lab, topic, last_value(more))


def start_digest(
    audit: AuditCommand, side: Literal["source", "target"]
) -> "subprocess.Popen[str]":
    """Start one where the cluster of the other side cannot be reached."""
    data = yaml.safe_load(audit.config.read_text())
    flow = data["flows"][0]
    other = flow["target" if side == "source" else "source"]
    data["clusters"][other]["kafka"] = {"bootstrap.servers": "127.0.0.1:1"}
    config = audit.folder / f"{side}.yaml"
    config.write_text(yaml.safe_dump(data))
    return audit.start(
        *("digest", "--config", str(config), "--side", side),
        *("--plan", "plan", "--out", f"digest-{side}"),
    )


def killed_soon(process: "subprocess.Popen[str]") -> None:
    """Kill one and its Java while it works."""
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(KILLED_AFTER)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
