"""Writes reports to InfluxDB 2.x, and to 1.8 or later 1.x."""

import json
import re
from datetime import timedelta
from typing import NoReturn

from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException
from influxdb_client.service.write_service import WriteService
from urllib3.exceptions import (
    HTTPError,
    NameResolutionError,
    NewConnectionError,
)
from urllib3.exceptions import TimeoutError as HTTPTimeoutError

from ..exceptions import SinkError, SinkRejectedError
from ..ports import Report
from .batch import Batch
from .influxdb_access import InfluxDbAccess
from .influxdb_points import to_points

__all__ = ["InfluxDbOutlet"]

REFUSED_DATA = (400, 413, 422)
"""Malformed, too large, a field of another type or too old for the retention
policy: no later try will do better. 1.8 says 400, 2.x says 422."""

LONGEST_ANSWER = 300
"""Characters of the server's own words that are worth a log line."""


class InfluxDbOutlet:
    """Sends reports to one InfluxDB. `IsolatedSink` makes a sink of it.

    Parameters
    ----------
    access
        Where it is and how to be let in.

    Notes
    -----
    The service below `write_api` is used, because only there a single write
    can be given a timeout. The library neither retries nor batches here:
    that is the business of `IsolatedSink`, which also counts. Redirects are
    not followed, so the secret goes to the configured server only.
    """

    name = "influxdb"

    def __init__(self, access: InfluxDbAccess) -> None:
        self._access = access
        self._client = InfluxDBClient(
            url=access.url,
            token=access.secret,
            org=access.org,
            auth_basic=access.basic,
            enable_gzip=True,
        )
        self._service = WriteService(self._client.api_client)

    def encode(self, report: Report) -> Batch:
        lines = [point.to_line_protocol() for point in to_points(report)]
        return Batch("\n".join(lines).encode(), len(lines))

    def send(self, batch: Batch, timeout: timedelta) -> None:
        try:
            self._service.post_write(
                org=self._access.org,
                bucket=self._access.bucket,
                body=batch.body,
                precision="ns",
                content_type="text/plain; charset=utf-8",
                _request_timeout=timeout / timedelta(milliseconds=1),
            )
        except ApiException as e:
            self._refused(e)
        except HTTPError as e:
            raise SinkError(
                f"InfluxDB at {self._access.url} does not answer: "
                f"{_plainly(e)}",
                sink=self.name,
            ) from e

    def close(self) -> None:
        self._client.close()

    def _refused(self, error: ApiException) -> NoReturn:
        """Say what to mend."""
        answer = self._answer(error)
        message = (
            f"InfluxDB at {self._access.url} "
            f"{self._outcome(error.status, answer)}: {answer}"
        )
        if error.status in REFUSED_DATA:
            dropped = re.search(r"dropped=(\d+)", answer)
            points = int(dropped[1]) if dropped else None
            raise SinkRejectedError(
                message, sink=self.name, points=points
            ) from error
        raise SinkError(message, sink=self.name) from error

    def _outcome(self, status: int, answer: str) -> str:
        missing = status == 404 or "retention policy not found" in answer
        if status == 0:  # the library's way to report a failed TLS handshake
            return "cannot be reached over TLS"
        if status == 401:
            advice = f" (mend {self._access.login_keys})"
        elif status == 403:
            advice = f" (let it write to {self._access.bucket!r})"
        elif missing:  # 1.8 answers 500 where a retention policy is missing
            advice = (
                f" (create {self._access.bucket!r}, or mend "
                f"{self._access.place_keys})"
            )
        else:
            advice = ""
        return f"answered {status}{advice}"

    def _answer(self, error: ApiException) -> str:
        """Return the server's own words, short and without the secret."""
        text = str(error.body or error.reason or "no reason given")
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        if isinstance(body, dict):  # 2.x calls it message, 1.x error
            text = str(body.get("message") or body.get("error") or text)
        for secret in (self._access.secret, *self._parts_of_secret()):
            if secret:
                text = text.replace(secret, "***")
        return " ".join(text.split())[:LONGEST_ANSWER]

    def _parts_of_secret(self) -> tuple[str, ...]:
        password = self._access.secret.partition(":")[2]
        return (password,) if self._access.basic else ()


def _plainly(error: HTTPError) -> str:
    """Return an error of the connection in words that stay the same."""
    match error:
        case NameResolutionError():
            return "its name cannot be resolved"
        case NewConnectionError():
            return "cannot connect"
        case HTTPTimeoutError():
            return "no answer in time"
        case _:
            return type(error).__name__
