"""Programs that a test needs and a newcomer's machine may lack."""

import shutil
import sys
from pathlib import Path

import pytest

__all__ = ["program"]

SOURCES = {
    "promtool": "install Debian's prometheus",
    "prometheus": "install Debian's prometheus",
    "prometheus-alertmanager": "install Debian's prometheus-alertmanager",
    "amtool": "install Debian's prometheus-alertmanager",
    "uv": "pip install uv",
    "helm": "tests/servers/build.sh FOLDER helm",
    "helm-docs": "tests/servers/build.sh FOLDER helm-docs",
    "systemd-analyze": "install systemd",
    "kapacitord": "build github.com/influxdata/kapacitor/cmd/kapacitord",
    "kapacitor": "build github.com/influxdata/kapacitor/cmd/kapacitor",
    "dashboard-linter": "build github.com/grafana/dashboard-linter",
}


def program(name: str) -> str:
    """Return where a program is, or skip the test that asks."""
    # Beside Python are those that `make` installs.
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name) or shutil.which(name, path=beside)
    if found is None:
        pytest.skip(f"{name} is not on PATH: {SOURCES[name]}")
    return found
