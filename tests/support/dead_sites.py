"""A configuration of two clusters that do not answer."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

__all__ = ["two_dead_sites"]


@contextmanager
def two_dead_sites(
    folder: Path, monkeypatch: pytest.MonkeyPatch, flow: Mapping[str, Any]
) -> Iterator[Path]:
    """Yield the path of a configuration, for as long as nobody listens.

    Parameters
    ----------
    folder
        Where it is written; the state file is ``state.db`` beside it.
    monkeypatch
        Shortens the patience with clusters.
    flow
        What the only flow has, but for its clusters.
    """
    monkeypatch.setattr("mirrorwatch.kafka.admin.TIMEOUT", 0.2)
    path = folder / "own.yaml"
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        host, port = nobody.getsockname()
        kafka = {"bootstrap.servers": f"{host}:{port}"}
        data = {
            "clusters": {"summit": {"kafka": kafka}, "ldf": {"kafka": kafka}},
            "flows": [{"source": "summit", "target": "ldf", **flow}],
            "state": {"path": str(folder / "state.db")},
        }
        path.write_text(yaml.safe_dump(data))
        yield path
