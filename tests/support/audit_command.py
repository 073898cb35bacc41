"""`mirrorwatch audit` in a process of its own, on a lab."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from mirrorwatch_lab import Lab
from mirrorwatch_lab.cli import describe_agent

__all__ = ["SECONDS", "AuditCommand", "Ran", "write"]

SCRIPT = Path(sys.executable).with_name("mirrorwatch")

SECONDS = 1200.0
"""An audit takes half a minute; others use this machine as well."""

FIRST_COMPILER = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What a command said."""

    status: int
    """Exit status."""

    output: str
    """What it printed."""

    errors: str
    """What it printed on stderr."""

    @property
    def document(self) -> dict[str, Any]:
        """What it printed, as JSON."""
        return dict(json.loads(self.output))


class AuditCommand:
    """Runs the command with a configuration of the lab.

    Parameters
    ----------
    lab
        The lab.
    folder
        Folder for the configuration and the results.
    topics
        Topics that the flow carries.
    few_records
        Whether there is little to read: then Java's second compiler would
        take longer than it saves.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        topics: Sequence[str],
        *,
        few_records: bool = False,
    ) -> None:
        own = {"SPARK_SUBMIT_OPTS": FIRST_COMPILER}
        self._java = own if few_records else {}
        data = describe_agent(lab)
        data["flows"][0]["topics"] = {"include": list(topics)}
        data["flows"][0]["canary"] = {"enabled": False}
        data["state"] = {"path": str(folder / "state.db")}
        data["audit"] = {
            "master": "local[2]",
            "memory": "1g",
            "slack": "0s",
            "settle": "1s",
            "samples": 1,
        }
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(data))
        self.folder = folder

    def __call__(
        self,
        command: str,
        *arguments: str,
        environment: Mapping[str, str] = os.environ,
    ) -> Ran:
        """Run it to its end."""
        print(f"audit {command}")
        return self.end(
            self.start(command, *arguments, environment=environment)
        )

    def end(self, process: "subprocess.Popen[str]") -> Ran:
        """Wait until it ends."""
        output, errors = process.communicate(timeout=SECONDS)
        print(f"status {process.returncode}\n{errors}")
        return Ran(status=process.returncode, output=output, errors=errors)

    def start(
        self,
        command: str,
        *arguments: str,
        environment: Mapping[str, str] = os.environ,
    ) -> subprocess.Popen[str]:
        """Start it, to be interrupted."""
        return subprocess.Popen(
            [
                *(SCRIPT, "audit", command),
                *("--config", str(self.config), *arguments),
            ],
            cwd=self.folder,
            env={**environment, **self._java},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def write(
    bootstrap: str, topic: str, records: Sequence[dict[str, Any]]
) -> None:
    """Write records to partition 0, unless they say so.

    Parameters
    ----------
    bootstrap
        The cluster.
    topic
        The topic.
    records
        Arguments of ``Producer.produce``.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for record in records:
        producer.produce(topic, **{"partition": 0, **record})
    assert producer.flush(60) == 0
