"""Schedules as cron writes them."""

import re
from datetime import UTC

from apscheduler.triggers.cron import CronTrigger

__all__ = ["to_trigger"]

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
