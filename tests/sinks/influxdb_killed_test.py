"""Ten minutes of points, server and agent killed: each is there once."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from mirrorwatch.sinks.influxdb import to_points
from mirrorwatch.sinks.queued import LEAST_POINTS
from tests.support.influx import InfluxServer, Tags
from tests.support.sink_process import SinkProcess, report_of

pytestmark = [pytest.mark.influx, pytest.mark.slow]

Times = dict[tuple[str, Tags], set[int]]


def times_of(ticks: Iterable[int]) -> Times:
    """Return when each series should have a point."""
    times: Times = defaultdict(set)
    for tick in ticks:
        for point in to_points(report_of(tick)):
            series, _, at = point.to_line_protocol().rsplit(" ", 2)
            name, *pairs = series.replace("\\ ", " ").split(",")
            halves = (pair.partition("=") for pair in pairs)
            tags = tuple(sorted((key, value) for key, _, value in halves))
            assert int(at) not in times[name, tags]
            times[name, tags].add(int(at))
    return times


def count(times: Times) -> int:
    return sum(map(len, times.values()))


def written(server: InfluxServer) -> Times:
    rows = server.select_all()
    return {series: set(fields) for series, fields in rows.items()}


def _written_whole(tick: int, there: Times) -> bool:
    expected = times_of([tick])
    return all(
        there.get(series, set()) >= at for series, at in expected.items()
    )


def test_every_point_is_there_once_whoever_was_killed(
    influx: InfluxServer, tmp_path: Path
) -> None:
    state = tmp_path / "state.db"
    each = count(times_of([0]))
    with SinkProcess(state, influx) as sink:
        sink.tell("to 100")
        influx.kill()
        sink.tell("to 110")
        spooled = sink.tell("to 300")
        assert spooled["waiting"] >= 200 * each
        sink.kill()
    with SinkProcess(state, influx, begin=300) as sink:
        sink.tell("to 450")
        influx.start()
        # In the midst of the drain.
        sink.tell(f"down to {200 * each}")
        sink.kill()
    with SinkProcess(state, influx, begin=450) as sink:
        begun = sink.tell("to 450")
        drained = sink.tell("down to 0")
        sink.tell("to 600")
        end = sink.tell("down to 0")
    expected = times_of(range(600))
    assert (end["waiting"], end["lost"]) == (0, 0)
    assert written(influx) == expected
    print(
        f"\n{influx.program}: {count(expected)} points of 600 s, each once; "
        f"spooled {190 * each / spooled['seconds']:.0f} points/s "
        f"({spooled['seconds'] / 190 * 1000:.1f} ms a tick, making the "
        f"report included, at most {spooled['slowest'] * 1000:.0f} ms), "
        f"drained {begun['waiting'] / drained['seconds']:.0f} points/s"
    )


def test_a_full_spool_keeps_the_newest_and_counts_the_others(
    influx: InfluxServer, tmp_path: Path
) -> None:
    limit = 64 * 1024
    with SinkProcess(tmp_path / "state.db", influx, spool_bytes=limit) as sink:
        sink.tell("to 1")
        sink.tell("down to 0")
        influx.kill()
        away = sink.tell("to 300")
        assert away["lost"] > 0
        influx.start()
        end = sink.tell("down to 0")
    there = written(influx)
    everything = times_of(range(300))
    lost = count(everything) - count(there)
    assert lost == end["lost"] == away["lost"]
    # Whole ticks: what was written before, and the newest without a gap.
    (written_before, *kept) = [
        tick for tick in range(300) if _written_whole(tick, there)
    ]
    assert there == times_of([written_before, *kept])
    assert written_before == 0
    # What is in flight as there is no more room is not dropped: the server
    # may have it. It is no more than one request to a server that is away.
    in_flight = LEAST_POINTS // count(times_of([0]))
    assert kept[in_flight:] == [*range(300 - len(kept) + in_flight, 300)]
