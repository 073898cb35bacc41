"""Many records over two nights, and the one of them that was dropped."""

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.audit_run import AuditCommand, Ran
from tests.support.audit_spark import CONFIGS, KEYS, PARTITIONS, SHARES, fill
from tests.support.lab import produce
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]

THOUSANDS = int(os.environ.get("MIRRORWATCH_AUDIT_THOUSANDS", "100"))
"""Thousands of records; `make audit-proof` takes a million."""

TELEMETRY = "nights.telemetry"

WINDOW = ("--from", "2026-01-01T00:00Z", "--to", "2100-01-01T00:00Z")

COMPACTED = "nights.compacted"
"""Only the newest record of each key is compared, and counted."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        topics={CANARY_TOPIC: 1, **PARTITIONS},
        topic_configs=CONFIGS,
        broker_heap_mib=512,
        mirror_heap_mib=512,
        start_mirror=False,
    )
    with Lab(settings) as lab:
        lab.mirror.start(drop_marked())
        yield lab


@pytest.fixture(scope="module")
def audit(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> AuditCommand:
    return AuditCommand(lab, tmp_path_factory.mktemp("audit"), [*PARTITIONS])


def counted(ran: Ran) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for topic in ran.document["topics"]:
        for side in ("source", "target"):
            found[topic["topic"], side] += topic[f"{side}_count"]
    return found


def wait_for_copies(lab: Lab, topic: str, records: int) -> None:
    """Wait until the target holds as many; it has no transaction markers."""

    def held() -> int:
        ends = lab.target.topics.ends(topic).values()
        return sum(end for _, end in ends)

    wait_until(
        lambda: held() >= records,
        within=1200,
        what=lambda: f"{held()} of {records} records of {topic}",
    )


def test_every_record_of_two_nights_is_counted_once(
    lab: Lab, audit: AuditCommand
) -> None:
    halves = {t: THOUSANDS * share // 2 for t, share in SHARES.items()}
    for topic, half in halves.items():
        fill(lab, topic, 0, half)
    with ThreadPoolExecutor() as pool:
        # The mirror still copies the first half, and more is written.
        more = [
            pool.submit(fill, lab, topic, half, 2 * half)
            for topic, half in halves.items()
        ]
        first = audit("run", "--date", "2026-11-01", "--json")
        for written in more:
            written.result()
    for topic, half in halves.items():
        wait_for_copies(lab, topic, 2 * half)

    second = audit("run", "--date", "2026-11-02", "--json")

    nights = (first, second)
    for night in nights:
        assert night.document["findings"] == []
        assert night.document["unverifiable"] == []
    assert [night.status for night in nights] == [0, 0]
    found = counted(first) + counted(second)
    newest = found.pop((COMPACTED, "source"))
    assert found.pop((COMPACTED, "target")) == newest >= KEYS
    assert found == {
        (topic, side): 2 * half
        for topic, half in halves.items()
        for side in ("source", "target")
        if topic != COMPACTED
    }


def test_one_record_of_all_that_was_dropped_is_named(
    lab: Lab, audit: AuditCommand
) -> None:
    _, offset = lab.source.topics.ends(TELEMETRY)[1]
    everything = THOUSANDS * SHARES[TELEMETRY]
    produce(lab, TELEMETRY, ["lost"], partition=1, headers={MARK: b"x"})
    produce(lab, TELEMETRY, ["after it"], partition=1)
    wait_for_copies(lab, TELEMETRY, everything + 1)

    ran = audit("run", *WINDOW, "--topics", TELEMETRY, "--json")

    assert ran.status == 3
    (finding,) = ran.document["findings"]
    assert (finding["kind"], finding["topic"]) == ("dropped", TELEMETRY)
    assert (finding["partition"], finding["count"]) == (1, 1)
    assert finding["source_offsets"] == [[offset, offset]]
