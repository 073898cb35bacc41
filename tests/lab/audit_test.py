"""The audit command on a real mirror, with faults at exact places."""

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch.lab.faults import MARK, drop_marked
from tests.support.audit_command import SECONDS, AuditCommand, Ran, write
from tests.support.lab import copied
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]

CLEAN = {"clean.telemetry": 2000, "clean.events": 300, "clean.empty": 0}

FAULTS = ("dropped", "extra", "doubled", "flipped", "emptied", "header")
"""A topic for each."""

AT = 10
"""Offset at which a fault is."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 1} | dict.fromkeys((*CLEAN, *FAULTS), 1)
    settings = LabSettings(intervals="fast", topics=topics, start_mirror=False)
    with Lab(settings) as lab:
        lab.mirror.start(drop_marked())
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
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=5)
    for topic, count in CLEAN.items():
        write(lab.source.bootstrap, topic, plain(count), at=begin)
    for topic in FAULTS:
        write(lab.source.bootstrap, topic, plain(AT), at=begin)
        copied(lab, topic, [f"value {AT - 1}"])
    lost = begin + timedelta(milliseconds=AT)
    for topic, (dropped, instead) in changes().items():
        if dropped is not None:
            write(lab.source.bootstrap, topic, [dropped], at=lost)
        if instead is not None:
            # A copy has the timestamp of its record.
            at = begin if topic == "doubled" else lost
            write(lab.target.bootstrap, topic, [instead], at=at)
    later = begin + timedelta(milliseconds=AT + 1)
    for topic in FAULTS:
        rest = plain(2 * AT)[AT:]
        write(lab.source.bootstrap, topic, rest, at=later)
        copied(lab, topic, [f"value {2 * AT - 1}"])
    for topic, count in CLEAN.items():
        copied(lab, topic, [f"value {count - 1}"] if count else [])
    end = utc_now() + timedelta(seconds=1)
    folder = tmp_path_factory.mktemp("audit")
    return Written(
        audit=AuditCommand(lab, folder, [*CLEAN, *FAULTS]),
        window=("--from", begin.isoformat(), "--to", end.isoformat()),
    )


def plain(count: int) -> list[dict[str, Any]]:
    return [
        {"key": b"key", "value": b"value %d" % n, "headers": {"h": b"x"}}
        for n in range(count)
    ]


Change = tuple[dict[str, Any] | None, dict[str, Any] | None]
"""A record that the mirror drops, and one that somebody writes to the target
in its place."""


def changes() -> Mapping[str, Change]:
    lost: dict[str, Any] = {
        "key": b"key",
        "value": b"the one",
        "headers": {MARK: b"x"},
    }
    again = plain(1)[0]
    null = lost | {"value": None}
    return {
        "dropped": (lost, None),
        "extra": (None, lost),
        "doubled": (None, again),
        "flipped": (lost, lost | {"value": b"the onf"}),
        "emptied": (null, null | {"value": b""}),
        "header": (lost, lost | {"headers": {MARK: b"y"}}),
    }


def found(ran: Ran) -> dict[str, tuple[str, int, Any, Any]]:
    return {
        finding["topic"]: (
            finding["kind"],
            finding["count"],
            finding["source_offsets"],
            finding["target_offsets"],
        )
        for finding in ran.document["findings"]
    }


def counts(ran: Ran) -> dict[str, tuple[int, int]]:
    return {
        topic["topic"]: (topic["source_count"], topic["target_count"])
        for topic in ran.document["topics"]
    }


def test_a_clean_window_is_clean_and_every_record_is_counted(
    written: Written,
) -> None:
    ran = written.audit(
        "run", *written.window, "--topics", "clean[.].*", "--json"
    )

    assert ran.status == 0
    document = ran.document
    assert document["clean"]
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
    assert not whole.document["clean"]
    assert whole.document["unverifiable"] == []
    here = [[AT, AT]]
    assert found(whole) == {
        "dropped": ("dropped", 1, here, []),
        "extra": ("extra", 1, [], here),
        "doubled": ("duplicated", 1, [[0, 0]], here),
        "flipped": ("corrupted", 1, here, here),
        "emptied": ("corrupted", 1, here, here),
        "header": ("corrupted", 1, here, here),
    }
    report = written.audit.folder / "report.html"
    assert "1 record dropped" in report.read_text()


def test_digests_of_both_sides_say_what_one_run_says(
    written: Written, whole: Ran
) -> None:
    for side in ("source", "target"):
        digested = written.audit(
            *("digest", *written.window, "--side", side, "--out", side)
        )
        assert digested.status == 0
        assert f"Digest of the {side}:" in digested.output

    compared = written.audit("compare", "source", "target", "--json")

    assert compared.status == 3
    assert compared.document == whole.document


def test_a_night_that_was_killed_begins_again_and_the_next_one_goes_on(
    lab: Lab, written: Written
) -> None:
    killed = written.audit.start("run", "--json")
    plans = written.audit.folder / "audit" / "runs"
    try:
        wait_until(
            lambda: any(plans.glob("nightly-*/plan/_SUCCESS")),
            within=SECONDS,
            what=lambda: "no plan yet",
        )
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
    more = [{"key": b"k", "value": b"more %d" % n} for n in range(5)]
    write(lab.source.bootstrap, "clean.events", more, at=utc_now())
    copied(lab, "clean.events", ["more 4"])

    night = written.audit("run", "--json")
    assert night.status == 3
    assert counts(night)["clean.events"] == (300, 300)
    assert found(night)["dropped"] == ("dropped", 1, [[AT, AT]], [])

    tomorrow = utc_now() + timedelta(days=1)
    after = written.audit("run", "--date", f"{tomorrow:%Y-%m-%d}", "--json")
    assert after.status == 0
    assert counts(after)["clean.events"] == (5, 5)
