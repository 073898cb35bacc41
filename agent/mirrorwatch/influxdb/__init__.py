"""InfluxDB as it is configured: the sink, and what it writes to."""

from .sink import make_influxdb_sink, to_access

__all__ = ["make_influxdb_sink", "to_access"]
