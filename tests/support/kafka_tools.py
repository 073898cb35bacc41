"""Kafka's own programs: what a plain client makes of a topic, and groups."""

import csv
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from mirrorwatch.maven import Artifact, cache_folder, fetch
from mirrorwatch_lab.process import JvmSettings

__all__ = ["KafkaTools"]

_TOOLS = Artifact(
    group="org.apache.kafka",
    name="kafka-tools",
    version="4.3.1",
    sha256="62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c",
)


class KafkaTools:
    """Kafka's programs, by the lab's Java and jars.

    Parameters
    ----------
    bootstrap
        Broker to ask first.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._runtime = JvmSettings.prepare(_TOOLS.version)
        self._jars = fetch([_TOOLS], cache_folder() / "jars")

    def produce(
        self,
        topic: str,
        records: int,
        size: int,
        *,
        compression: str = "none",
        transactional: bool = False,
    ) -> None:
        """Fill a topic with random records of so many bytes."""
        committing = ("--transactional-id", topic) if transactional else ()
        self._run(
            "ProducerPerformance",
            *("--topic", topic, "--num-records", str(records)),
            *("--record-size", str(size), "--throughput", "-1"),
            *committing,
            *("--command-property", "linger.ms=20", "batch.size=262144"),
            f"compression.type={compression}",
        )

    def consume(
        self, topics: str, records: int, *, read_committed: bool = False
    ) -> float:
        """Return records a second of ``ConsumerPerformance``.

        Without the time that its group needs to form, so at its best.

        Parameters
        ----------
        topics
            Pattern of the topics' names.
        records
            How many there are at least.
        read_committed
            Whether records of aborted transactions are left out.
        """
        level = "committed" if read_committed else "uncommitted"
        out = self._run(
            "ConsumerPerformance",
            *("--include", topics, "--num-records", str(records)),
            *("--timeout", "60000"),
            *("--command-property", f"isolation.level=read_{level}"),
        )
        (row,) = csv.DictReader(out.splitlines(), skipinitialspace=True)
        assert int(row["data.consumed.in.nMsg"]) >= records, row
        return float(row["fetch.nMsg.sec"])

    def reset(self, groups: Iterable[str], file: Path) -> str:
        """Set the offsets of groups by a file of ``--from-file``."""
        return self._run(
            "consumer.group.ConsumerGroupCommand",
            *(word for name in groups for word in ("--group", name)),
            *("--reset-offsets", "--from-file", str(file), "--execute"),
        )

    def limit(self, client: str, bytes_a_second: int) -> None:
        """Give a client's id a quota for what it reads of each broker."""
        self._run(
            "ConfigCommand",
            *("--alter", "--entity-type", "clients", "--entity-name", client),
            *("--add-config", f"consumer_byte_rate={bytes_a_second}"),
            package="kafka.admin",
        )

    def _run(
        self,
        program: str,
        *arguments: Sequence[str] | str,
        package: str = "org.apache.kafka.tools",
    ) -> str:
        jars = os.pathsep.join(map(str, (*self._jars, *self._runtime.jars)))
        done = subprocess.run(
            [
                str(self._runtime.java.path),
                "-Xmx512m",
                *("-cp", jars, f"{package}.{program}"),
                *("--bootstrap-server", self._bootstrap, *map(str, arguments)),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
