"""Asks Kafka Connect's REST API."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from ...exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from ..http import HttpAddress, open_client, tell_failure

__all__ = ["ConnectApi"]

PATIENCE_SECONDS = 4.0
"""A worker that needs longer is in trouble, and the agent must be able to
stop meanwhile."""

ABSENT = {httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED}
"""What a version answers that does not know a question."""


class ConnectApi:
    """The REST API of one Connect cluster.

    Parameters
    ----------
    flow
        Name of the flow whose mirror it runs.
    cluster
        Our alias of the cluster beside it.
    address
        Where any of its workers is.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    SourceError
        Raised by every method if the API does not do as it is asked.

    Notes
    -----
    Answers hold the configuration of connectors, passwords included: nothing
    of them is put into an error.
    """

    def __init__(self, flow: str, cluster: str, address: HttpAddress) -> None:
        self._flow = flow
        self._cluster = cluster
        self._url = address.url
        self._http = open_client(
            address, key="mirror.connect", timeout_seconds=PATIENCE_SECONDS
        )

    def connectors(self) -> Mapping[str, Mapping[str, Any]]:
        """Return ``status`` and ``info`` of each connector, by its name."""
        found = self._ask("GET", "connectors?expand=status&expand=info")
        if not isinstance(found, dict):
            raise self._strange()
        return found

    def version(self) -> str | None:
        """Return the version of the worker that answers.

        `None` if it does not tell, or a proxy does not let that be asked:
        nothing depends on it.
        """
        try:
            found = self._ask("GET", "")
        except SourceError:
            return None
        version = found.get("version") if isinstance(found, dict) else None
        return version if isinstance(version, str) else None

    def tasks(self, connector: str) -> Sequence[Mapping[str, Any]]:
        """Return the configuration of each task of a connector."""
        found = self._ask("GET", f"connectors/{_quote(connector)}/tasks")
        return found if isinstance(found, list) else []

    def offsets(self, connector: str) -> Sequence[Mapping[str, Any]] | None:
        """Return the committed offsets of a connector; `None` before Kafka
        3.5.
        """
        found = self._ask("GET", f"connectors/{_quote(connector)}/offsets")
        if found is None:
            return None
        offsets = found.get("offsets") if isinstance(found, dict) else None
        if not isinstance(offsets, list):
            raise self._strange()
        return offsets

    def restart(self, connector: str, task: int | None) -> None:
        """Start a failed task again, or a failed connector itself."""
        path = f"connectors/{_quote(connector)}"
        if task is not None:
            path += f"/tasks/{task}"
        self._ask("POST", f"{path}/restart")

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _ask(self, method: str, path: str) -> Any:
        """Ask; `None` if nobody knows what is asked for."""
        try:
            answer = self._http.request(method, f"{self._url}/{path}")
        except httpx.TransportError as e:
            raise self._unreachable(e) from e
        except httpx.HTTPError as e:
            raise self._strange() from e
        if answer.status_code in ABSENT and path.count("/"):
            return None
        if not answer.is_success:
            raise self._refusal(answer.status_code)
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError as e:
            raise self._strange() from e

    def _unreachable(self, error: httpx.TransportError) -> SourceError:
        why = tell_failure(error, PATIENCE_SECONDS)
        return SourceUnavailableError(
            f"Connect's REST API of {self._flow} cannot be reached ({why}): "
            "is the worker up, and are mirror.connect and the network right?",
            source="connect",
            cluster=self._cluster,
        )

    def _refusal(self, status: int) -> SourceError:
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            return SourceDeniedError(
                f"Connect's REST API of {self._flow} refuses the agent "
                f"(status {status}): see username and password under "
                "mirror.connect",
                source="connect",
                cluster=self._cluster,
                right="Connect's REST API",
            )
        return SourceError(
            f"Connect's REST API of {self._flow} does not do what it is "
            f"asked (status {status}): see the worker's own log; 409 is a "
            "rebalance",
            source="connect",
            cluster=self._cluster,
        )

    def _strange(self) -> SourceError:
        return SourceError(
            f"What answers as Connect's REST API of {self._flow} is none: "
            "see mirror.connect.url",
            source="connect",
            cluster=self._cluster,
        )


def _quote(name: str) -> str:
    return quote(name, safe="")
