"""The same audit on a real Spark cluster, by `spark-submit`, and with its runs
in an object store.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import drop_marked
from tests.support.audit_run import (
    FAULTS,
    SECONDS,
    AuditCommand,
    Ran,
    inject,
    last_value,
    records,
    write,
)
from tests.support.audit_spark import SPARK_HOME, SparkCluster
from tests.support.lab import copied
from tests.support.s3 import BUCKET, SECRET, S3Server
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]

ROOT = Path(__file__).parents[2]

CLEAN = "clean"

RECORDS = 20_000


@dataclass(frozen=True)
class Audited:
    """A lab with faults, what one audits there, and what it is to say."""

    audit: AuditCommand
    arguments: tuple[str, ...]
    document: dict[str, Any]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    end = begin + timedelta(minutes=1)
    topics = {CANARY_TOPIC: 1, CLEAN: 1} | dict.fromkeys(FAULTS, 1)
    settings = LabSettings(intervals="fast", topics=topics, start_mirror=False)
    with Lab(settings) as lab:
        lab.mirror.start(drop_marked())
        healthy = records(begin, 0, RECORDS)
        write(lab.source.bootstrap, CLEAN, healthy)
        inject(lab, FAULTS, begin)
        copied(lab, CLEAN, last_value(healthy))
        folder = tmp_path_factory.mktemp("audit")
        audit = AuditCommand(lab, folder, [CLEAN, *FAULTS])
        window = ("--from", begin.isoformat(), "--to", end.isoformat())
        arguments = ("run", *window, "--json")
        local = audit(*arguments)
        assert local.status == 3
        found = {f["topic"] for f in local.document["findings"]}
        assert found == set(FAULTS)
        yield Audited(audit, arguments, local.document)


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel, installed into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ("-m", "hatchling", "build", "--target", "wheel", "--directory")
    subprocess.run(
        [sys.executable, *build, str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (file,) = folder.glob("*.whl")
    installed = folder / "installed"
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", str(file), str(installed)],
        check=True,
    )
    return installed


def test_a_cluster_of_three_workers_says_what_this_machine_says(
    audited: Audited, cluster: SparkCluster, tmp_path: Path
) -> None:
    out = (tmp_path / "on a cluster").as_uri()
    audit, (command, *arguments) = audited.audit, audited.arguments
    ran = audit(
        *(command, *arguments, "--master", cluster.url, "--out", out),
        environment=cluster.environment,
    )

    assert ran.status == 3
    assert ran.document == audited.document
    (application,) = cluster.state()["completedapps"]
    assert application["cores"] == 3
    assert application["state"] == "FINISHED"
    (result,) = (tmp_path / "on a cluster").glob("runs/*/result.json")
    assert json.loads(result.read_text())


def with_spark(
    audit: AuditCommand, folder: Path, properties: dict[str, Any]
) -> AuditCommand:
    """Return the same audit, with properties of Spark's."""
    data = yaml.safe_load(audit.config.read_text())
    data["audit"]["spark"] = properties
    other = copy(audit)
    other.config = folder / "config.yaml"
    other.config.write_text(yaml.safe_dump(data))
    return other


def noting(folder: Path) -> dict[str, Any]:
    """Return what lets Spark note in a folder what it does."""
    folder.mkdir()
    return {
        "spark.eventLog.enabled": True,
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": False,
        "spark.eventLog.rolling.enabled": False,
    }


def events(folder: Path) -> list[dict[str, Any]]:
    """Return what Spark noted of one run."""
    (log,) = folder.iterdir()
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_worker_that_dies_in_the_middle_costs_nothing_that_was_kept(
    audited: Audited, tmp_path: Path
) -> None:
    noted, out = tmp_path / "events", tmp_path / "shared"
    audit = with_spark(audited.audit, tmp_path, noting(noted))
    with SparkCluster(tmp_path) as cluster:
        running = audit.start(
            *(*audited.arguments, "--master", cluster.url),
            *("--out", out.as_uri()),
            environment=cluster.environment,
        )
        # Both sides are summed up, and the first records are compared.
        wait_until(
            lambda: (
                running.poll() is not None
                or any(out.glob("checkpoints/*/rdd-*/part-*"))
            ),
            what=cluster.state,
            within=SECONDS,
        )
        assert running.poll() is None
        cluster.kill_worker()
        ran = audit.end(running)

    assert ran.status == 3
    assert ran.document == audited.document
    kinds = events(noted)
    assert "SparkListenerExecutorRemoved" in {e["Event"] for e in kinds}
    # Nothing had to be read again: what a failed job would have led to.
    ends = [e for e in kinds if e["Event"] == "SparkListenerJobEnd"]
    assert {e["Job Result"]["Result"] for e in ends} == {"JobSucceeded"}
    assert not [*out.glob("checkpoints/*")]


@pytest.mark.parametrize("where", ["local", "cluster"])
def test_the_built_wheel_says_the_same_by_spark_submit(
    audited: Audited,
    cluster: SparkCluster,
    wheel: Path,
    tmp_path: Path,
    where: str,
) -> None:
    jars = tmp_path / "jars"
    connector = ("-m", "mirrorwatch_audit.connector", str(jars))
    environment = cluster.environment | {
        "PYTHONPATH": str(wheel),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    subprocess.run([sys.executable, *connector], env=environment, check=True)
    master = cluster.url if where == "cluster" else "local[*]"
    submitted = subprocess.run(
        [
            str(SPARK_HOME / "bin" / "spark-submit"),
            *("--master", master, "--conf", "spark.executor.memory=900m"),
            *("--jars", ",".join(map(str, sorted(jars.iterdir())))),
            str(ROOT / "sparkjobs" / "submit.py"),
            *(*audited.arguments, "--config", str(audited.audit.config)),
            *("--out", (tmp_path / "out").as_uri()),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )

    assert submitted.returncode == 3, submitted.stderr
    ran = Ran(status=3, output=submitted.stdout, errors=submitted.stderr)
    assert ran.document == audited.document


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.kill()


def test_an_object_store_keeps_what_a_folder_keeps_and_no_password(
    audited: Audited, s3: S3Server, tmp_path: Path
) -> None:
    noted = tmp_path / "events"
    audit = with_spark(audited.audit, tmp_path, s3.spark | noting(noted))
    out = f"s3a://{BUCKET}/of a window"

    ran = audit(*audited.arguments, "--out", out)

    assert ran.status == 3
    assert ran.document == audited.document
    kept = [key.split("/") for key in s3.keys("of a window/runs/")]
    assert len({names[2] for names in kept}) == 1
    stored = {"plan.json", "digests", "report.html"}
    stored |= {"result.json"}
    assert {names[3] for names in kept} == stored
    # No file that was not yet renamed.
    gone = ("__magic", "_temporary", ".new")
    assert not [
        k for k in s3.keys("of a window/") if any(g in k for g in gone)
    ]
    assert events(noted)
    written = [ran.output, ran.errors]
    written += [
        file.read_bytes().decode(errors="replace")
        for folder in (noted, s3.objects)
        for file in folder.rglob("*")
        if file.is_file()
    ]
    assert not [text for text in written if SECRET in text]
