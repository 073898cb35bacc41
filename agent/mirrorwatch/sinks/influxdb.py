"""Writes reports to InfluxDB 2.x, and to 1.8 or later 1.x."""

from datetime import timedelta

from influxdb_client.rest import ApiException
from influxdb_client.service.write_service import WriteService
from urllib3.exceptions import HTTPError

from ..ports import Report
from .batch import Batch
from .influxdb_access import InfluxDbAccess, open_client
from .influxdb_errors import NAME, to_sink_error
from .influxdb_points import to_points

__all__ = ["InfluxDbOutlet"]


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

    name = NAME

    def __init__(self, access: InfluxDbAccess) -> None:
        self._access = access
        self._client = open_client(access)
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
        except (ApiException, HTTPError) as e:
            raise to_sink_error(e, self._access) from e

    def close(self) -> None:
        self._client.close()
