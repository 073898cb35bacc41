"""Makes the InfluxDB sink of its configuration."""

from structlog.typing import FilteringBoundLogger

from .config import InfluxDBConfig
from .sinks.influxdb import InfluxDbOutlet
from .sinks.influxdb_access import (
    InfluxDbAccess,
    password_access,
    token_access,
)
from .sinks.isolated import IsolatedSink

__all__ = ["make_influxdb_sink"]


def make_influxdb_sink(
    config: InfluxDBConfig, logger: FilteringBoundLogger
) -> IsolatedSink:
    """Return a sink with a backlog and a thread of its own.

    Raises
    ------
    ConfigError
        Raised if the address or the secret cannot be used.
    """
    return IsolatedSink(InfluxDbOutlet(_to_access(config)), logger=logger)


def _to_access(influxdb: InfluxDBConfig) -> InfluxDbAccess:
    if influxdb.database is not None:
        password = influxdb.password
        return password_access(
            url=influxdb.url,
            database=influxdb.database,
            retention_policy=influxdb.retention_policy,
            username=influxdb.username,
            password=password.get_secret_value() if password else None,
        )
    # The configuration has seen to it that none of these is missing.
    token = influxdb.token
    return token_access(
        url=influxdb.url,
        org=influxdb.org or "",
        bucket=influxdb.bucket or "",
        token=token.get_secret_value() if token else "",
    )
