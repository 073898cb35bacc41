"""The `audit` block: the nightly comparison of both sides."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.cron import CronTrigger
from pydantic import AfterValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from ..domain.audit.check import AuditLimits
from .base import NEVER_SHOWN, Duration, Model
from .kafka import JavaProperties
from .properties import PROPERTY_NAME, Properties
from .types import HttpUrl, PemFile

__all__ = [
    "AuditConfig",
    "AuditPost",
    "SparkProperties",
    "to_mebibytes",
    "to_trigger",
]

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""By cron's numbers, in which 0 and 7 are Sunday."""

LAST = 6
"""Saturday, the last day of cron's week."""

PART = re.compile(
    r"(?P<first>\d|\*)(?:-(?P<last>\d))?(?P<step>/\d+)?", re.ASCII
)


def to_trigger(schedule: str) -> CronTrigger:
    """Return the trigger of a schedule, by a clock without a zone: as if it
    were in UTC.

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


HOURS_OF_A_DAY = 24

LEAP_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
"""From here on, every date of the calendar is reached in time."""

MEMORY = re.compile(r"[1-9]\d{0,5}[mg]", re.ASCII)

LEAST_MEMORY = 512
"""Mebibytes; Spark refuses to start with less than 450."""


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
        raise PydanticCustomError("schedule", "must run at least once")
    for _ in range(HOURS_OF_A_DAY):
        then = trigger.get_next_fire_time(None, first + timedelta(minutes=1))
        if then is None:
            break
        if then - first < timedelta(hours=1):
            raise PydanticCustomError(
                "schedule",
                "must run once an hour at most: a run takes minutes, and "
                "leaves the youngest records to the next",
            )
        first = then
    return schedule


def fires_several_a_day(schedule: str) -> bool:
    """Return whether a schedule has days with more than one run."""
    trigger = to_trigger(schedule)
    first = trigger.get_next_fire_time(None, LEAP_YEAR)
    if first is None:
        return False
    then = trigger.get_next_fire_time(None, first + timedelta(minutes=1))
    return then is not None and then.date() == first.date()


def _check_timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise PydanticCustomError(
            "timezone", "must be a time zone such as UTC or America/Santiago"
        ) from e
    return name


def _check_place(place: str) -> str:
    """Check a path or an address of Spark, which is shown."""
    authority = place.partition("://")[2].partition("/")[0]
    if "@" in authority or ("://" in place and "?" in place):
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must hold no user, password or query; credentials belong in "
            "Spark's or the file system's own configuration",
        )
    return place


def _check_memory(size: str) -> str:
    match = MEMORY.fullmatch(size)
    if match is None or to_mebibytes(size) < LEAST_MEMORY:
        raise PydanticCustomError(
            "memory", "must be a size such as 2g, at least 512m"
        )
    return size


Memory = Annotated[str, AfterValidator(_check_memory)]
"""Size of a Java heap."""

_OF_THE_AUDIT = "the audit sets it, as its results depend on it"

SPARK_OWNED = {
    "spark.master": "set audit.master",
    "spark.driver.memory": "set audit.memory, which also limits the process",
    "spark.sql.ansi.enabled": _OF_THE_AUDIT,
    "spark.sql.caseSensitive": _OF_THE_AUDIT,
    "spark.sql.session.timeZone": _OF_THE_AUDIT,
    "spark.redaction.regex": "the audit sets it, so that secrets are hidden",
    "spark.sql.redaction.options.regex": (
        "the audit sets it, so that secrets are hidden"
    ),
}
"""Properties of Spark that are not to be set, and why."""


class SparkProperties(Properties):
    """Properties of Spark by its own names."""

    kind = "Spark properties"
    names = re.compile(rf"spark\.{PROPERTY_NAME.pattern}", re.ASCII)
    names_are = (
        "must hold properties of Spark only: these begin with spark.; those "
        "of Hadoop with spark.hadoop."
    )
    owned = SPARK_OWNED


class AuditPost(Model):
    """The agent that takes results of audits that run elsewhere."""

    url: HttpUrl = Field(title="URL")
    """URL of the agent's web server, which the audit posts to."""

    token: SecretStr = Field(title="Token", min_length=1)
    """Bearer token that the audit sends and the agent asks for, such as
    `${file:/run/secrets/audit-token}`."""

    ca: PemFile | None = Field(None, title="CA certificate")
    """PEM file with the CA that signed the agent's certificate. Default: the
    public CAs."""


class AuditConfig(Model):
    """The nightly audit, which compares the records of both clusters."""

    schedule: Annotated[str, AfterValidator(_check_schedule)] = Field(
        "0 2 * * *", title="Schedule"
    )
    """Cron schedule of the audit, with five fields. At night by default, when
    load is low. Weekdays are names, or numbers with 0 for Sunday. At most once
    an hour, as in `0 * * * *`: then a loss is detected soon, and runs are
    named by time as well as by day."""

    timezone: Annotated[str, AfterValidator(_check_timezone)] = Field(
        "UTC", title="Time zone of the schedule"
    )
    """IANA time zone."""

    settle: Duration = Field(
        timedelta(minutes=15),
        title="Settling time",
        ge=timedelta(),
        le=timedelta(days=7),
    )
    """Records younger than this are left to the next audit, so that records in
    flight are not reported as missing."""

    slack: Duration = Field(
        timedelta(hours=6),
        title="Slack",
        ge=timedelta(),
        le=timedelta(days=30),
    )
    """Tolerance for records out of timestamp order in a partition. An audit of
    a time window reads this much more at its end; one of a log whose oldest
    records have expired begins this much after the oldest remaining record. A
    few hours cover producers that buffer records during an outage."""

    bucket: Duration = Field(
        timedelta(minutes=10),
        title="Bucket",
        ge=timedelta(seconds=1),
        le=timedelta(days=1),
    )
    """Time range that is compared by one count and one checksum."""

    out: Annotated[str, AfterValidator(_check_place)] | None = Field(
        None,
        title="Output directory",
        min_length=1,
        json_schema_extra={"default_text": "`audit`, beside the state file"},
    )
    """A path, or a URL of any file system that Spark supports through Hadoop
    (`hdfs://`, `s3a://`). The next audit continues from what is stored here,
    so keep it as durable as the state file."""

    keep: Duration = Field(
        timedelta(days=400),
        title="Retention of runs",
        ge=timedelta(days=1),
    )
    """Runs that ended longer ago are deleted after the next one. A year and a
    month, to compare a night with the same one a year ago. What the next audit
    needs is always kept."""

    post: AuditPost | None = Field(None, title="Post of results")
    """An audit posts each result to the agent, which keeps it in `out`, or
    beside the state file if that is elsewhere: then they share no volume.
    Without it the agent takes none."""

    start: bool = Field(default=True, title="Start audits")
    """Let the agent start audits. Set to false if a scheduler such as
    Kubernetes or Airflow starts them at the same schedule; the agent then only
    reads the results in `out`."""

    master: Annotated[str, AfterValidator(_check_place)] = Field(
        "local[*]", title="Spark master", min_length=1
    )
    """`local[*]` for this machine, `spark://HOST:PORT` for a cluster. The
    audit is a separate process in any case."""

    memory: Memory = Field("2g", title="Java heap")
    """Number with `m` or `g`, at least `512m`. An audit holds one row for each
    partition and bucket, and the batches of records that are being read; the
    default is enough for records of 10 MB in several tasks. The process is
    limited to this and 2 GiB for Java itself. On a cluster, also the memory of
    each executor."""

    spark: SparkProperties | None = Field(None, title="Spark properties")
    """Any property of Spark, such as `spark.executor.instances`, or
    `spark.hadoop.fs.s3a.endpoint` for Hadoop, with these exceptions:
    `spark.master`, `spark.driver.memory`, `spark.sql.ansi.enabled`,
    `spark.sql.caseSensitive`, `spark.sql.session.timeZone` and those of
    redaction. They override what `spark-submit` was given."""

    consumer: JavaProperties | None = Field(None, title="Consumer properties")
    """Properties of Kafka's Java consumer, by which the audit reads both
    clusters, such as `fetch.max.bytes`. Logins belong in `clusters.*.java`,
    which goes over these."""

    timeout: Duration = Field(
        AuditLimits().timeout,
        title="Timeout",
        ge=timedelta(minutes=1),
        le=timedelta(days=7),
    )
    """An audit that takes longer is stopped, so that it is over in the
    morning. The next one covers its records."""

    @property
    def several_a_day(self) -> bool:
        """Return whether runs are named by day and time."""
        return fires_several_a_day(self.schedule)
