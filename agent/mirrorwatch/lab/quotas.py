"""Quotas on a site, as an administrator sets them with Kafka's own tool."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ..exceptions import LabError
from .lab import Lab
from .runtime import Runtime

__all__ = ["Quota", "quota"]

Quota = Literal["producer_byte_rate", "consumer_byte_rate"]
"""What is limited, in bytes a second and broker."""

_LIMIT_SECONDS = 180
"""Longest run of the tool, which is a JVM of its own."""


@contextmanager
def quota(
    lab: Lab, side: Literal["source", "target"], name: Quota, rate: int
) -> Iterator[None]:
    """Hold every client of a site to a rate, until the context ends.

    Raises
    ------
    LabError
        Raised if the site does not take it.
    """
    _configure(lab, side, ["--add-config", f"{name}={rate}"])
    try:
        yield
    finally:
        _configure(lab, side, ["--delete-config", name])


def _configure(
    lab: Lab, side: Literal["source", "target"], change: list[str]
) -> None:
    site = lab.source if side == "source" else lab.target
    with tempfile.TemporaryDirectory() as folder:
        command = Runtime.prepare(lab.settings.kafka).command(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", site.bootstrap, "--alter", *change),
            *("--entity-type", "clients", "--entity-default"),
            folder=Path(folder),
            heap_mib=128,
        )
        try:
            subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                timeout=_LIMIT_SECONDS,
            )
        except subprocess.CalledProcessError as e:
            raise LabError(f"The quota was not set: {e.stdout}") from e
        except subprocess.TimeoutExpired as e:
            raise LabError("The quota was not set in time") from e
