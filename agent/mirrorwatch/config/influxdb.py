"""The block `sinks.influxdb`."""

from datetime import timedelta
from pathlib import Path
from typing import Literal, Self

from pydantic import ByteSize, Field, SecretStr, model_validator

from .addresses import HttpUrl
from .base import Model
from .durations import Duration
from .problems import Problem, ProblemsError

__all__ = ["DownsamplingConfig", "InfluxDBConfig", "SpoolConfig"]


class SpoolConfig(Model):
    """Points that wait in the state file while the server is away."""

    limit: ByteSize = Field(
        ByteSize(256 * 1024 * 1024),
        title="Limit",
        ge=64 * 1024,
        json_schema_extra={"default_text": "`256MiB`"},
    )
    """How much may wait, compressed; beyond it the oldest points are dropped
    and counted. Default: ten days of a few topics, or ten hours of 1,200, at
    a tick of 5 s. The state file keeps the size that it once had."""


class DownsamplingConfig(Model):
    """What `mirrorwatch influx setup` makes for the years before.

    A bucket or a retention policy of its own, with the least, the mean and
    the largest value of each field.
    """

    enabled: bool = Field(default=True, title="Enabled")
    """Whether it is made. What was made before stays."""

    every: Duration = Field(
        timedelta(minutes=5), title="Width", ge=timedelta(minutes=1)
    )
    """How much time becomes one point. Default: as wide as the buckets of
    the page's history; at a tick of 5 s it leaves a twentieth."""

    retention: Duration = Field(
        timedelta(days=730), title="Retention", ge=timedelta(hours=1)
    )
    """How long it is kept: two years, so that a season can be compared with
    the one before."""


FORMS = {
    "2.x": ("org", "bucket", "token"),
    "1.x": ("database", "retention_policy", "username", "password"),
}
"""Keys that belong to each generation of InfluxDB."""


class InfluxDBConfig(Model):
    """An InfluxDB server: 2.x by token, or 1.8 and later by database."""

    url: HttpUrl = Field(title="Address")
    """Address of the server."""

    org: str | None = Field(None, title="Organization (2.x)")
    """Name or id."""

    bucket: str | None = Field(None, title="Bucket (2.x)")
    """Bucket that points are written to; it must exist
    (`mirrorwatch influx setup` makes it)."""

    token: SecretStr | None = Field(None, title="Token (2.x)")
    """Token that may write to the bucket."""

    database: str | None = Field(None, title="Database (1.8 and later)")
    """Database that points are written to; it must exist
    (`mirrorwatch influx setup` makes it)."""

    retention_policy: str | None = Field(
        None, title="Retention policy (1.8 and later)"
    )
    """Default: the database's own default policy."""

    username: str | None = Field(None, title="User name (1.8 and later)")
    """User that may write to the database, if it asks for one."""

    password: SecretStr | None = Field(None, title="Password (1.8 and later)")
    """Password of that user."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the server's certificate, if no public authority
    does."""

    spool: SpoolConfig = Field(default_factory=SpoolConfig, title="Spool")
    """Where points wait while the server is away."""

    retention: Duration | None = Field(
        None, title="Retention", ge=timedelta(hours=1)
    )
    """How long the bucket or the retention policy keeps points: only
    `mirrorwatch influx setup` reads it. Default: what exists stays as it is,
    and what is made keeps 30 days, the longest that anybody looks at single
    ticks."""

    replication: int = Field(1, title="Copies (1.x Enterprise)", ge=1)
    """How many data nodes keep each point of a retention policy that
    `mirrorwatch influx setup` makes. Default: what a single server takes."""

    downsampling: DownsamplingConfig = Field(
        default_factory=DownsamplingConfig, title="Downsampling"
    )
    """What is kept beyond `retention`."""

    @property
    def form(self) -> Literal["1.x", "2.x"]:
        """Which of the two forms was configured."""
        return "2.x" if self.bucket is not None else "1.x"

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        given = {
            form: [key for key in keys if getattr(self, key) is not None]
            for form, keys in FORMS.items()
        }
        if given["1.x"] and given["2.x"]:
            raise ProblemsError(
                [
                    Problem(
                        (),
                        f"mixes keys of 2.x ({', '.join(given['2.x'])}) and "
                        f"of 1.x ({', '.join(given['1.x'])}); allowed are "
                        "the keys of one",
                    )
                ]
            )
        needed = ["org", "bucket", "token"]
        if given["1.x"]:
            needed = ["database"]
            if self.username is not None or self.password is not None:
                needed += ["username", "password"]
        missing = [key for key in needed if getattr(self, key) is None]
        if missing:
            raise ProblemsError(
                [
                    Problem(
                        (key,),
                        "is missing; needed are org, bucket and token (2.x), "
                        "or database, and username with password (1.x)",
                    )
                    for key in missing
                ]
            )
        return self
