"""Lag of groups at the target, held to Kafka's own tool."""

import subprocess
from pathlib import Path

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.readers.model import ReadersObservation
from mirrorwatch.domain.report import Health
from mirrorwatch.maven import cache_folder, fetch, parse_artifacts
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.process import JvmSettings
from tests.support.findings import find
from tests.support.group import Group, commit
from tests.support.lab import copied, numbered, produce
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOOLS = {
    "4.3.1": "62f3c5dd7aa3442d4c5bc6a95f86e250"
    "2178ea09de8e27f74d9563bf955e253c",
    "3.9.2": "3e6844711c3f5c9148f76ac96dfbf1de"
    "0aeeba11249e142e084b6de68e0ed05e",
}
"""Checksum of the jar that has `kafka-consumer-groups`, by version."""

PATTERN = "stopped|idle"
STOPPED = {("steady", 0): 237, ("steady", 1): 3}
SINK = {("steady", 0): 10}


def described_by_kafka(
    lab: Lab, folder: Path
) -> dict[str, dict[tuple[str, int], int]]:
    """Return the lag that `kafka-consumer-groups --describe` prints."""
    version = lab.settings.kafka
    line = f"org.apache.kafka:kafka-tools:{version} {TOOLS[version]}"
    tools = fetch(parse_artifacts(line), cache_folder() / "jars")
    runtime = JvmSettings.prepare(version)
    classes = ":".join(map(str, (*tools, *runtime.jars)))
    command = [
        *(str(runtime.java.path), "-Xmx128m", "-cp", classes),
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", lab.target.bootstrap),
        *("--describe", "--all-groups"),
    ]
    result = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, dict[tuple[str, int], int]] = {}
    for row in map(str.split, result.stdout.splitlines()):
        if len(row) > 5 and row[5].isdigit() and row[1] == "steady":
            group, topic, partition, _, _, lag, *_ = row
            found.setdefault(group, {})[topic, int(partition)] = int(lag)
    return found


def seen_by(watch: Watch) -> ReadersObservation | None:
    report = watch.agent.latest.get()
    for seen in report.observations if report else ():
        if isinstance(seen, ReadersObservation):
            return seen
    return None


def lags(watch: Watch) -> dict[str, int]:
    seen = seen_by(watch)
    return {g.group: g.records for g in seen.groups} if seen else {}


@pytest.mark.parametrize("kafka", sorted(TOOLS))
def test_lag_is_what_kafka_says_and_only_who_stopped_is_stopped(
    kafka: str, tmp_path: Path
) -> None:
    settings = LabSettings(
        kafka=kafka,
        intervals="fast",
        topics={CANARY_TOPIC: 1, "steady": 2},
    )
    readers = {"groups": [PATTERN], "connectors": ["sink", "gone"]}
    limits = {"readers": {"stopped": "40s"}}
    with (
        Lab(settings) as lab,
        Watch(lab, flow={"readers": readers, "limits": limits}) as watch,
    ):
        produce(lab, "steady", numbered("b", 0, 60), partition=1)
        produce(lab, "steady", numbered("a", 0, 437))
        written = utc_now()
        copied(lab, "steady", ["a 436", "b 59"])
        commit(lab.target.bootstrap, "stopped", STOPPED)
        commit(lab.target.bootstrap, "connect-sink", SINK)
        commit(lab.target.bootstrap, "another", STOPPED)
        bootstrap = lab.target.bootstrap
        with Group(lab, ["steady"], name="idle", bootstrap=bootstrap):
            expected = {"stopped": 257, "connect-sink": 427, "idle": 0}
            wait_until(
                lambda: lags(watch) == expected, what=lambda: lags(watch)
            )
            found = watch.wait_for(
                Health.CRITICAL,
                "readers.stopped",
                check="readers",
                group="stopped",
                records=257,
                topics=1,
                members=0,
            )
            assert "idle has" not in str(found)
            find(found, "readers.no-offsets", group="connect-gone")
            # Idle for as long as the others are stopped, and then some.
            watch.let_pass(45)
            seen = seen_by(watch)
            assert seen is not None
            assert seen.missing == ("connect-gone",)
            groups = {group.group: group for group in seen.groups}
            assert groups["idle"].facts is not None
            assert groups["idle"].facts.members == 1
            assert groups["idle"].facts.state == "stable"
            assert groups["stopped"].facts is not None
            assert groups["stopped"].facts.members == 0
            age = (seen.at - written).total_seconds()
            assert abs(groups["stopped"].seconds - age) < 20
            kafkas = described_by_kafka(lab, tmp_path)
            assert {
                group: sum(lag.values()) for group, lag in kafkas.items()
            } == expected | {"another": 257}
            assert lags(watch) == expected
            verdict = watch.verdict("readers")
            assert "idle has" not in str(verdict)
            # Records that an idle group reads are no stop, either.
            produce(lab, "steady", numbered("a", 437, 442))
            copied(lab, "steady", ["a 441"])
            expected = {"stopped": 262, "connect-sink": 432, "idle": 0}
            wait_until(
                lambda: lags(watch) == expected, what=lambda: lags(watch)
            )
            ends = {("steady", 0): 442, ("steady", 1): 60}
            commit(lab.target.bootstrap, "stopped", ends)
            commit(lab.target.bootstrap, "connect-sink", {("steady", 0): 442})
            commit(lab.target.bootstrap, "connect-gone", ends)
            watch.wait_for(
                Health.OK,
                "readers.ok",
                check="readers",
                groups=4,
                records=0,
            )
