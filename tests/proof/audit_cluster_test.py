"""The same audit on a real Spark cluster, and by `spark-submit`."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import drop_marked
from tests.support.audit_run import (
    FAULTS,
    SECONDS,
    AuditCommand,
    inject,
    last_value,
    records,
    write,
)
from tests.support.audit_spark import SPARK_HOME, SparkCluster
from tests.support.lab import copied

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


def test_a_cluster_of_two_workers_says_what_this_machine_says(
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
    assert application["cores"] == 2
    assert application["state"] == "FINISHED"
    (result,) = (tmp_path / "on a cluster").glob("runs/*/result.json")
    assert json.loads(result.read_text())


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
    assert json.loads(submitted.stdout) == audited.document
