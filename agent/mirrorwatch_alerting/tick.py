"""What all TICKscripts have in common. Pure."""

from datetime import timedelta
from string import Template

from mirrorwatch.domain.metrics import Metric
from mirrorwatch.domain.notices.policy import GAP

from .alerts import PAGE, SERVICE

__all__ = [
    "BARRIER",
    "FRESH",
    "duration",
    "escaped",
    "head",
    "seconds",
    "source",
]


FRESH = timedelta(minutes=1)
"""By how much the time of a point that is judged may be off. Points that
waited in the agent's spool tell of the past, and come mixed with fresh ones;
those of a clock that was wrong for a while spoil every duration. Shorter than
any alert has to hold, and no longer than a flow has to be well, so that old
points alone never make or end one."""

_HEAD = Template("""\
// Made by `make alerts` from agent/mirrorwatch_alerting: change it there.
// $about
dbrp "$database"."$policy"

// Where the agent writes to (sinks.influxdb), and the address of its page.
var database = '$database'
var retention_policy = '$policy'
var page = '$page'

// Handlers of this topic decide who is told, and how.
var topic = '$topic'

// Points that waited in the agent's spool tell of the past, and those of a
// wrong clock of nothing.
var fresh = lambda: unixNano(now()) - unixNano("time") < $age
    AND unixNano("time") - unixNano(now()) < $age

""")

_SOURCE = Template("""\
stream
    |from()
        .database(database)
        .retentionPolicy(retention_policy)
        .measurement('$measurement')
        .where(fresh)
""")


BARRIER = f"""\
    // Before a long silence and after it is not without a break.
    |barrier()
        .idle({int(GAP.total_seconds())}s)
        .delete(TRUE)
"""
"""Goes behind what groups points, so that a group forgets what it saw."""


def head(about: str, *, page: str = PAGE, database: str = SERVICE) -> str:
    """Return how each script begins: what a site changes, in variables."""
    return _HEAD.substitute(
        about=about,
        database=database,
        policy="autogen",
        page=page,
        topic=SERVICE,
        age=FRESH // timedelta(microseconds=1) * 1000,
    )


def source(metric: Metric) -> str:
    """Return where the points of a metric's measurement come from."""
    return _SOURCE.substitute(measurement=metric.measurement)


def seconds(time: timedelta) -> str:
    """Write a time as the number of seconds that lambdas compare with."""
    return f"{time.total_seconds():.1f}"


def duration(time: timedelta) -> str:
    """Write a time as TICKscript does."""
    return f"{int(time.total_seconds())}s"


def escaped(text: str) -> str:
    """Write a text as it goes between quotes."""
    return text.replace("'", "\\'")
