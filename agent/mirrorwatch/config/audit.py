"""The `audit` block: the nightly comparison of both sides."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.cron import CronTrigger
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from ..domain.audit.check import AuditLimits
from .base import Duration, Model

__all__ = ["AuditConfig", "to_mebibytes", "to_trigger"]

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""By cron's numbers, in which 0 and 7 are Sunday."""

LAST = 6
"""Saturday, the last day of cron's week."""

PART = re.compile(
    r"(?P<first>\d|\*)(?:-(?P<last>\d))?(?P<step>/\d+)?", re.ASCII
)


def to_trigger(schedule: str) -> CronTrigger:
    """Return what tells the times of a schedule, by a clock without a zone: as
    if it were in UTC.

    Parameters
    ----------
    schedule
        Cron's five fields: minute, hour, day, month, weekday.

    Raises
    ------
    ValueError
        Raised if that is no schedule.

    Notes
    -----
    APScheduler 3 counts weekdays from Monday, cron from Sunday. What a person
    copies from a crontab must not run on another day, so numbers become names.
    """
    fields = schedule.split()
    if len(fields) == 5:
        fields[4] = ",".join(_name(part) for part in fields[4].split(","))
    return CronTrigger.from_crontab(" ".join(fields), timezone=UTC)


def _name(part: str) -> str:
    match = PART.fullmatch(part)
    if match is None or part == "*":
        return part
    first = 0 if match["first"] == "*" else int(match["first"])
    step = int((match["step"] or "/1")[1:])
    # One day with a step means from that day on.
    alone = LAST if match["step"] else first
    last = alone if match["last"] is None else int(match["last"])
    if last >= len(DAYS) or first > last or step == 0:
        raise ValueError(f"{part} is no weekday")
    return ",".join(DAYS[first : last + 1 : step])


LEAP_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
"""From here on, every day that there ever is comes round in time."""

MEMORY = re.compile(r"[1-9]\d{0,5}[mg]", re.ASCII)

LEAST_MEMORY = 512
"""Mebibytes; Spark refuses to start with less than 450."""


MOST_SAMPLES = 100
"""More keys than a person looks at; whoever needs all reads the offsets."""


def to_mebibytes(size: str) -> int:
    """Return the size of a Java heap, as in `2g`, in mebibytes."""
    return int(size[:-1]) * (1024 if size.endswith("g") else 1)


def _check_schedule(schedule: str) -> str:
    try:
        trigger = to_trigger(schedule)
    except ValueError as e:
        raise PydanticCustomError(
            "schedule",
            "must be cron's five fields (minute, hour, day, month, weekday)",
        ) from e
    first = trigger.get_next_fire_time(None, LEAP_YEAR)
    if first is None:
        raise PydanticCustomError("schedule", "must come round")
    second = trigger.get_next_fire_time(None, first + timedelta(minutes=1))
    if second is not None and second.date() == first.date():
        raise PydanticCustomError(
            "schedule",
            "must come round once a day at most: audits are named after days",
        )
    return schedule


def _check_timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise PydanticCustomError(
            "timezone", "must be a time zone such as UTC or America/Santiago"
        ) from e
    return name


def _check_memory(size: str) -> str:
    match = MEMORY.fullmatch(size)
    if match is None or to_mebibytes(size) < LEAST_MEMORY:
        raise PydanticCustomError(
            "memory", "must be a size such as 2g, at least 512m"
        )
    return size


Schedule = Annotated[str, AfterValidator(_check_schedule)]
"""A schedule as cron takes it."""

Memory = Annotated[str, AfterValidator(_check_memory)]
"""Size of a Java heap."""

TimeZone = Annotated[str, AfterValidator(_check_timezone)]
"""Name of a time zone."""


class AuditConfig(Model):
    """When the nightly audit is expected, and how it cuts time."""

    schedule: Annotated[str, AfterValidator(_check_schedule)] = Field(
        "0 2 * * *", title="Schedule"
    )
    """When it runs, in cron's five fields: at night, when systems are
    quiet. Weekdays are names, or numbers from 0 for Sunday."""

    timezone: Annotated[str, AfterValidator(_check_timezone)] = Field(
        "UTC", title="Time zone of the schedule"
    )
    """Name of the IANA data base."""

    settle: Duration = Field(
        timedelta(minutes=15), title="Settling time", ge=timedelta()
    )
    """Records younger than this are left for the next night, so that those
    on their way are not called missing."""

    slack: Duration = Field(timedelta(hours=6), title="Slack", ge=timedelta())
    """By how much records of one partition may be out of time order. An audit
    of a window looks this much behind it, and one of logs whose oldest records
    expired begins this much after what is left: so a few hours, for producers
    that send what they kept through an outage."""

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

    keep: Duration = Field(
        timedelta(days=400),
        title="How long runs are kept",
        ge=timedelta(days=1),
    )
    """Runs that ended longer ago are deleted after the next one. A year and
    a month: so that a night can be compared with the same one a year ago.
    What the next night needs is kept in any case."""

    samples: int = Field(
        0, title="Keys named for each finding", ge=0, le=MOST_SAMPLES
    )
    """None by default, because keys may be private: they would be in the
    report and among the results. Each is cut to 200 characters."""

    start: bool = Field(default=True, title="Whether the agent starts it")
    """Off where something else does, such as Kubernetes or Airflow, at the
    same schedule: then the agent only reads what it finds in `out`."""

    master: str = Field("local[*]", title="Spark master", min_length=1)
    """Where it runs: `local[*]` is this machine, `spark://HOST:PORT` a
    cluster. It is a process of its own in any case."""

    memory: Memory = Field("2g", title="Memory of its Java")
    """Number and `m` or `g`, at least `512m`. What it keeps is one line for
    each partition and bucket, and batches of records that are read: a 10 MB
    record in each of a few tasks fits twice over. It is kept from taking more
    than this and 2 GiB for Java itself. On a cluster it is each executor's
    memory too."""

    timeout: Duration = Field(
        AuditLimits().timeout, title="Longest run", gt=timedelta()
    )
    """An audit that takes longer is stopped, so that it is over when the
    working day begins. The next one makes up for it."""

    grace: Duration = Field(timedelta(hours=3), title="Grace", ge=timedelta())
    """How long after its time an audit should be over; later it is told as
    late, or as missed. Half of the longest run: there is time left to look
    before it is stopped."""
