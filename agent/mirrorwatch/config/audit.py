"""The `audit` block: the nightly comparison of both sides."""

from datetime import timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.cron import CronTrigger
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from .base import Model
from .durations import Duration

__all__ = ["AuditConfig"]


def _check_schedule(schedule: str) -> str:
    try:
        CronTrigger.from_crontab(schedule)
    except ValueError as e:
        raise PydanticCustomError(
            "schedule",
            "must be cron's five fields (minute, hour, day, month, weekday)",
        ) from e
    return schedule


def _check_timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise PydanticCustomError(
            "timezone", "must be a time zone such as UTC or America/Santiago"
        ) from e
    return name


Schedule = Annotated[str, AfterValidator(_check_schedule)]
"""A schedule as cron takes it."""

TimeZone = Annotated[str, AfterValidator(_check_timezone)]
"""Name of a time zone."""


class AuditConfig(Model):
    """When the nightly audit is expected, and how it cuts time."""

    schedule: Annotated[str, AfterValidator(_check_schedule)] = Field(
        "0 2 * * *", title="Schedule"
    )
    """When it runs, in cron's five fields: at night, when systems are
    quiet."""

    timezone: Annotated[str, AfterValidator(_check_timezone)] = Field(
        "UTC", title="Time zone of the schedule"
    )
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

    out: str | None = Field(
        None,
        title="Folder of the results",
        min_length=1,
        json_schema_extra={"default_text": "`audit`, beside the state file"},
    )
    """A path, or the URL of any file system that Spark's Hadoop knows
    (`hdfs://`, `s3a://`). It keeps what was read so far, from which the next
    night goes on, so it must last as the state file does."""
