"""What an agent's configuration says of an InfluxDB of the tests."""

from .influx import (
    ADMIN,
    DATABASE,
    PASSWORD,
    POLICY,
    TOKEN,
    Influx1,
    InfluxServer,
)

__all__ = ["influx_config", "influx_environment"]

SECRET = "MIRRORWATCH_TESTS_INFLUXDB"  # noqa: S105
"""Variable that holds the secret: it is written in no file."""


def influx_config(server: InfluxServer) -> dict[str, str]:
    """Return the block ``sinks.influxdb``."""
    secret = f"${{env:{SECRET}}}"
    if isinstance(server, Influx1):
        return {
            "url": server.url,
            "database": DATABASE,
            "retention_policy": POLICY,
            "username": ADMIN,
            "password": secret,
        }
    return {
        "url": server.url,
        "org": "efd",
        "bucket": DATABASE,
        "token": secret,
    }


def influx_environment(server: InfluxServer) -> dict[str, str]:
    """Return the variables that the block refers to."""
    return {SECRET: PASSWORD if isinstance(server, Influx1) else TOKEN}
