"""Configuration -> how to reach InfluxDB.

Imported only where it is configured: its library costs 20 MB of memory.
"""

from ..config import InfluxDBConfig
from ..sinks.influxdb import (
    InfluxDbAccess,
    password_access,
    token_access,
)

__all__ = ["to_access"]


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
