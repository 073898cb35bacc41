"""Configuration -> the sink of InfluxDB.

Imported only where it is configured: its library costs 20 MB of memory.
"""

from functools import partial

from structlog.typing import FilteringBoundLogger

from ..config import InfluxDBConfig
from ..domain.samples import Sampler, samples
from ..sinks.influxdb import (
    InfluxDbAccess,
    InfluxDbOutlet,
    password_access,
    to_batch,
    token_access,
)
from ..sinks.queued import QueuedSink
from ..state import Database
from ..state.queue import DeliveryQueue, DurableQueue

__all__ = ["make_influxdb_sink", "to_access"]

SPOOL_BYTES = 256 * 1024 * 1024
"""Size of the queue in the state file, compressed: ten days of a few topics,
or ten hours of 1,200, at an interval of 5 s. Then the oldest points are
dropped and counted."""


def make_influxdb_sink(
    config: InfluxDBConfig,
    database: Database,
    logger: FilteringBoundLogger,
    sampler: Sampler = samples,
) -> QueuedSink:
    """Return the sink with its spool.

    Raises
    ------
    ConfigError
        Raised if the address or a secret cannot be used.
    StateError
        Raised if the state file cannot be used.
    """
    outlet = InfluxDbOutlet(to_access(config))
    spool = DurableQueue(database, outlet.name, most_bytes=SPOOL_BYTES)
    return QueuedSink(
        outlet,
        encode=partial(to_batch, sampler=sampler),
        queue=DeliveryQueue(spool),
        logger=logger,
    )


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
