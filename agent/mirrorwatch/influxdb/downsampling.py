"""The texts that make InfluxDB keep less of what is old. Pure."""

from datetime import timedelta
from string import Template

from ..config import InfluxDBConfig
from ..config.durations import format_duration
from ..domain.catalogue import CATALOGUE

__all__ = ["coarse_name", "continuous_query", "flux_task", "quote"]

RUN_EVERY = timedelta(hours=1)
"""How often what is new is summed up."""

LOOK_BACK = 6
"""How many runs' time each run goes over again, so that points which waited
for the server in the spool are summed up too: six hours of them, at the
price of reading each point six times."""

MEASUREMENTS = sorted({metric.measurement for metric in CATALOGUE})
"""What the agent writes. Others in the same place are left alone."""

FUNCTIONS = ("min", "mean", "max")
"""The worst of a gauge is its least or its largest value, and a mean hides
both; the largest value of a counter is its last."""

_QUERY = Template(
    "CREATE CONTINUOUS QUERY $name ON $database "
    "RESAMPLE EVERY $run FOR $back BEGIN "
    "SELECT $functions INTO $database.$name.:MEASUREMENT "
    "FROM $database.$policy.$measurements "
    "GROUP BY time($every), * END"
)

_TASK = Template("""\
import "date"

option task = {name: $name, every: $run, offset: 1m}

points =
    from(bucket: $bucket)
        |> range(
            start: date.truncate(t: -$back, unit: $every),
            stop: date.truncate(t: now(), unit: $every),
        )
        |> filter(fn: (r) => r._measurement =~ $measurements)

keep = (name, fn) =>
    points
        |> aggregateWindow(
            every: $every,
            fn: fn,
            timeSrc: "_start",
            createEmpty: false,
        )
        |> map(fn: (r) => ({r with _field: name + "_" + r._field}))
        |> to(bucket: $name)
        |> yield(name: name)

$calls
""")


def coarse_name(config: InfluxDBConfig) -> str:
    """Return the name of what is kept for long: ``mirrorwatch_5m``."""
    prefix = config.bucket or "mirrorwatch"
    return f"{prefix}_{format_duration(config.downsampling.every)}"


def quote(name: str) -> str:
    """Write a name in InfluxQL, or a text in Flux."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def continuous_query(config: InfluxDBConfig, policy: str) -> str:
    """Return what 1.x does by itself.

    Parameters
    ----------
    config
        What was configured.
    policy
        Retention policy that points are written to.

    Notes
    -----
    The functions name their fields themselves: ``max_latency_seconds``.
    """
    run, back = _times(config)
    return _QUERY.substitute(
        name=quote(coarse_name(config)),
        database=quote(config.database or ""),
        policy=quote(policy),
        run=run,
        back=back,
        every=format_duration(config.downsampling.every),
        measurements=_pattern(),
        functions=", ".join(f"{function}(*)" for function in FUNCTIONS),
    )


def flux_task(config: InfluxDBConfig) -> str:
    """Return what 2.x does by itself.

    Notes
    -----
    Names and times are those of 1.x: ``max_latency_seconds``, at the start
    of its stretch. Only whole stretches are summed up, else the first one
    would replace a whole one by a part of it.
    """
    run, back = _times(config)
    return _TASK.substitute(
        name=quote(coarse_name(config)),
        bucket=quote(config.bucket or ""),
        run=run,
        back=back,
        every=format_duration(config.downsampling.every),
        measurements=_pattern(),
        calls="\n".join(
            f'keep(name: "{function}", fn: {function})'
            for function in FUNCTIONS
        ),
    )


def _times(config: InfluxDBConfig) -> tuple[str, str]:
    """Return how often it runs, and how far it looks back."""
    run = max(RUN_EVERY, config.downsampling.every)
    return format_duration(run), format_duration(LOOK_BACK * run)


def _pattern() -> str:
    return f"/^({'|'.join(MEASUREMENTS)})$/"
