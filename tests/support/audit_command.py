"""`mirrorwatch audit` in a process of its own, on a lab."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from mirrorwatch.cli.demo import describe_agent
from mirrorwatch.lab import Lab

__all__ = ["SECONDS", "AuditCommand", "Ran", "write"]

SCRIPT = Path(sys.executable).with_name("mirrorwatch")

SECONDS = 1200.0
"""An audit takes half a minute; others use this machine as well."""


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
    """

    def __init__(self, lab: Lab, folder: Path, topics: Sequence[str]) -> None:
        data = describe_agent(lab)
        data["flows"][0]["topics"] = {"include": list(topics)}
        data["flows"][0]["canary"] = {"enabled": False}
        data["state"] = {"path": str(folder / "state.db")}
        data["audit"] = {
            "master": "local[2]",
            "memory": "1g",
            "slack": "0s",
            "settle": "1s",
        }
        self._config = folder / "config.yaml"
        self._config.write_text(yaml.safe_dump(data))
        self.folder = folder

    def __call__(self, command: str, *arguments: str) -> Ran:
        """Run it to its end."""
        process = self.start(command, *arguments)
        output, errors = process.communicate(timeout=SECONDS)
        print(f"audit {command}: status {process.returncode}\n{errors}")
        return Ran(status=process.returncode, output=output, errors=errors)

    def start(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        """Start it, to be interrupted."""
        return subprocess.Popen(
            [
                *(SCRIPT, "audit", command),
                *("--config", str(self._config), *arguments),
            ],
            cwd=self.folder,
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def write(
    bootstrap: str,
    topic: str,
    records: Sequence[dict[str, Any]],
    *,
    at: datetime,
) -> None:
    """Write records to partition 0, a millisecond apart unless they say so.

    Parameters
    ----------
    bootstrap
        The cluster.
    topic
        The topic.
    records
        Arguments of ``Producer.produce``.
    at
        Timestamp of the first one.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for n, record in enumerate(records):
        own = round((at + timedelta(milliseconds=n)).timestamp() * 1000)
        producer.produce(topic, **{"partition": 0, "timestamp": own, **record})
    assert producer.flush(60) == 0
