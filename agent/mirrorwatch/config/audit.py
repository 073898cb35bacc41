"""The `audit` block: the nightly comparison of both sides."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["AuditConfig"]


class AuditConfig(Model):
    """When the nightly audit is expected, and how it cuts time."""

    schedule: str = Field("0 2 * * *", title="Schedule")
    """When it runs, in cron's five fields: at night, when systems are
    quiet."""

    timezone: str = Field("UTC", title="Time zone of the schedule")
    """Name of the IANA data base."""

    settle: Duration = Field(
        timedelta(minutes=15), title="Settling time", ge=timedelta()
    )
    """Records younger than this are left for the next night, so that those
    on their way are not called missing."""

    bucket: Duration = Field(
        timedelta(minutes=10), title="Bucket", gt=timedelta()
    )
    """Length of time that one count and checksum stands for."""
