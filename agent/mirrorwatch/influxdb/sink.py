"""Makes the InfluxDB sink of its configuration."""

from structlog.typing import FilteringBoundLogger

from ..config import InfluxDBConfig
from ..sinks.backlog import Backlog
from ..sinks.influxdb import InfluxDbOutlet
from ..sinks.influxdb_access import (
    InfluxDbAccess,
    password_access,
    token_access,
)
from ..sinks.isolated import IsolatedSink
from ..sinks.spool import Spool
from ..state import Database

__all__ = ["make_influxdb_sink", "to_access"]


def make_influxdb_sink(
    config: InfluxDBConfig, database: Database, logger: FilteringBoundLogger
) -> IsolatedSink:
    """Return a sink with a spool and a thread of its own.

    Raises
    ------
    ConfigError
        Raised if the address or the secret cannot be used.
    StateError
        Raised if the state file cannot be used.
    """
    outlet = InfluxDbOutlet(to_access(config))
    spool = Spool(database, outlet.name, limit_bytes=config.spool.limit)
    return IsolatedSink(outlet, backlog=Backlog(spool), logger=logger)


def to_access(influxdb: InfluxDBConfig) -> InfluxDbAccess:
    """Return where the server is and how to be let in.

    Raises
    ------
    ConfigError
        Raised if the address or the secret cannot be used.
    """
    if influxdb.database is not None:
        password = influxdb.password
        return password_access(
            url=influxdb.url,
            database=influxdb.database,
            retention_policy=influxdb.retention_policy,
            username=influxdb.username,
            password=password.get_secret_value() if password else None,
            ca=influxdb.ca,
        )
    # The configuration has seen to it that none of these is missing.
    token = influxdb.token
    return token_access(
        url=influxdb.url,
        org=influxdb.org or "",
        bucket=influxdb.bucket or "",
        token=token.get_secret_value() if token else "",
        ca=influxdb.ca,
    )
