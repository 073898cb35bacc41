"""Makes what the sink writes to, and what is kept of it for long."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException
from urllib3.exceptions import HTTPError

from ..config import InfluxDBConfig
from ..exceptions import SinkError
from ..sinks.influxdb_access import open_client
from ..sinks.influxdb_errors import to_sink_error
from .setup_v1 import find_steps_v1
from .setup_v2 import find_steps_v2
from .sink import to_access
from .step import Step

__all__ = ["open_setup"]

TIMEOUT = timedelta(seconds=30)
"""A server may write its catalogue to the disk of every node."""


@contextmanager
def open_setup(config: InfluxDBConfig) -> Iterator[list[Step]]:
    """Ask the server what is missing; within the context it can be done.

    Yields
    ------
    list of Step
        What is not as configured, in the order in which to do it.

    Raises
    ------
    ConfigError
        Raised if the address or the secret cannot be used.
    SinkError
        Raised if the server does not answer, or refuses.

    Notes
    -----
    Nothing that exists is deleted. The rights it takes are an
    administrator's, which the agent itself should not have.
    """
    access = to_access(config)
    client = open_client(access)
    client.api_client.configuration.timeout = TIMEOUT / timedelta(
        milliseconds=1
    )
    try:
        if config.form == "1.x":
            steps = find_steps_v1(config, lambda text: _ask(client, text))
        else:
            steps = find_steps_v2(config, client)
        yield steps
    except (ApiException, HTTPError) as e:
        error = to_sink_error(e, access)
        rights = getattr(e, "status", None) in {401, 403}
        hint = "; setting up takes an administrator's rights" if rights else ""
        raise SinkError(f"{error}{hint}", sink=error.sink) from e
    finally:
        client.close()


def _ask(client: InfluxDBClient, statement: str) -> list[Mapping[str, Any]]:
    """Run a statement of InfluxQL; 1.x tells its errors with status 200."""
    answer: Any = client.api_client.call_api(
        "/query",
        "POST",
        query_params=[("q", statement)],
        header_params={"Accept": "application/json"},
        response_type="object",
        _return_http_data_only=True,
    )
    (result,) = answer["results"]
    if "error" in result:
        raise SinkError(
            f"InfluxDB refuses {statement!r}: {result['error']}",
            sink="influxdb",
        )
    return [
        dict(zip(series["columns"], values, strict=True))
        for series in result.get("series", ())
        for values in series.get("values", ())
    ]
