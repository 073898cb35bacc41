"""A Kafka Connect worker that runs MirrorMaker 2, with its REST API."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import httpx

from ..exceptions import LabError
from .addresses import LOOPBACK
from .connect_properties import GROUP, PLACE
from .mirror import Mirror
from .mirror_state import Bookmark, Place
from .properties import write_properties
from .waiting import wait_until

__all__ = ["ConnectMirror"]

_REST_LIMIT = timedelta(seconds=300)
"""Longest until the worker serves: it loads, joins its group, and waits for
rebalances."""

_TIMEOUT_SECONDS = 120
"""Longest wait for one answer; a worker that rebalances makes one wait, up to
90 s of its own."""

Configs = Mapping[str, Mapping[str, str]]


class ConnectMirror(Mirror):
    """One worker of a Connect cluster, and MirrorMaker 2's connectors on it.

    Parameters
    ----------
    rest_port
        Port of the REST API.
    connectors
        Gives their configuration by name, from those properties that one
        start adds, and a digest.
    others
        As of `Mirror`; ``configure`` gives the worker's properties.
    """

    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    program = "connect"
    place: Place = PLACE

    def __init__(
        self,
        *arguments: Any,
        rest_port: int,
        connectors: Callable[[Mapping[str, str], str], Configs],
        **others: Any,
    ) -> None:
        super().__init__(*arguments, **others)
        self._http = httpx.Client(
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
            # One that is killed leaves no connection to be closed.
            limits=httpx.Limits(max_keepalive_connections=0),
        )
        self.rest_url = f"http://{LOOPBACK}:{rest_port}"
        self._connectors = connectors
        self._wanted: Configs = {}

    @property
    def agent_config(self) -> dict[str, Any]:
        """What an agent must be told of it: ``mirror`` of a flow."""
        return {
            "mode": "connect",
            "topics": {
                "offsets": f"{GROUP}-offsets",
                "configs": self.place.configs,
                "status": self.place.status,
            },
        }

    def launch(self, properties: Mapping[str, str] | None = None) -> None:
        if self.running:
            return
        more = properties or {}
        worker = self._configure(more)
        said = json.dumps([dict(worker), self._connectors(more, "")])
        self._digest = hashlib.sha256(said.encode()).hexdigest()
        self._wanted = self._connectors(more, self._digest)
        write_properties(self._config, dict(worker))
        self._process.start()

    def wait(self, since: Bookmark | None = None) -> None:
        wait_until(
            self._serves,
            limit=_REST_LIMIT,
            what=lambda: (
                "the Connect worker does not serve. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )
        for name, config in self._wanted.items():
            wait_until(
                partial(self._put, name, config),
                limit=_REST_LIMIT,
                what=f"the connector {name} was not taken",
            )
        super().wait(since)

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Ask the REST API, as an operator would.

        Raises
        ------
        LabError
            Raised if it does not answer.
        """
        try:
            return self._http.request(
                method, f"{self.rest_url}{path}", json=body
            )
        except httpx.HTTPError as e:
            raise LabError(f"The Connect worker does not answer: {e}") from e

    def _put(self, name: str, config: Mapping[str, str]) -> bool:
        # 409 while it rebalances.
        answer = self.ask("PUT", f"/connectors/{name}/config", dict(config))
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise LabError(f"Connector {name} is refused: {answer.text}")
        return answer.is_success

    def _serves(self) -> bool:
        self._process.check()
        try:
            return self.ask("GET", "/connectors").is_success
        except LabError:
            return False
