"""Unit tests of Prometheus' own for our rules, made from a few words."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from mirrorwatch.domain.checks import CHECKS

from .programs import program

__all__ = ["FLOW", "OTHER", "Story", "check_stories", "health_of"]

FLOW = "summit->ldf"
OTHER = "ldf->summit"
"""A second flow, which is well all the time."""

FIRING = 'group by (alertname, flow) (ALERTS{alertstate="firing"})'


def health_of(check: str, flow: str = FLOW) -> str:
    return f'mirrorwatch_check_health{{flow="{flow}", check="{check}"}}'


@dataclass(kw_only=True)
class Story:
    """What happens to some series, and what is fired of it.

    Times are in steps from the beginning. Series that the story does not
    name are those of an agent that is well.
    """

    name: str
    step: timedelta
    steps: int
    series: Mapping[str, str]
    """Values in promtool's notation, by series."""

    fires: Mapping[int, set[tuple[str, str]]]
    """Exactly which alerts fire at a time, with their flows ('' for none)."""

    ever: set[str] = field(default_factory=set)
    """Exactly which have fired at some time."""


def check_stories(rules: Path, folder: Path, stories: list[Story]) -> None:
    """Let promtool play the stories; fail with what it says."""
    file = folder / "stories.yaml"
    document = {
        "rule_files": [str(rules)],
        # That of the longest step of all: it is one for the whole file.
        "evaluation_interval": _text(stories[0].step),
        "tests": [_test(story) for story in stories],
    }
    assert {story.step for story in stories} == {stories[0].step}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    ran = subprocess.run(
        [program("promtool"), "test", "rules", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _test(story: Story) -> dict[str, Any]:
    series = _well(story) | dict(story.series)
    end = (story.steps - 1) * story.step
    return {
        "name": story.name,
        "interval": _text(story.step),
        "input_series": [
            {"series": name, "values": values}
            for name, values in series.items()
        ],
        "promql_expr_test": [
            *(
                _expect(FIRING, at * story.step, _labels(alerts))
                for at, alerts in story.fires.items()
            ),
            _expect(
                "group by (alertname) (last_over_time("
                f'ALERTS{{alertstate="firing"}}[{_text(2 * end)}]))',
                end,
                (f'{{alertname="{name}"}}' for name in sorted(story.ever)),
            ),
        ],
    }


def _well(story: Story) -> dict[str, str]:
    steps, seconds = story.steps, story.step.total_seconds()
    series = {
        'mirrorwatch_sink_up{sink="influxdb"}': f"1x{steps}",
        'mirrorwatch_sink_spooled_points{sink="influxdb"}': f"0x{steps}",
        'mirrorwatch_sink_lost_points_total{sink="influxdb"}': f"7x{steps}",
        # Time begins at 0 there.
        "mirrorwatch_last_tick_timestamp_seconds": f"0+{seconds:g}x{steps}",
    }
    for flow in (FLOW, OTHER):
        series[f'mirrorwatch_health{{flow="{flow}"}}'] = f"0x{steps}"
        series[f'mirrorwatch_maintenance{{flow="{flow}"}}'] = f"0x{steps}"
        series |= {health_of(check, flow): f"0x{steps}" for check in CHECKS}
    return series


def _labels(alerts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, flow in sorted(alerts):
        told = f', flow="{flow}"' if flow else ""
        yield f'{{alertname="{name}"{told}}}'


def _expect(
    expression: str, at: timedelta, labels: Iterable[str]
) -> dict[str, Any]:
    return {
        "expr": expression,
        "eval_time": _text(at),
        "exp_samples": [{"labels": text, "value": 1} for text in labels],
    }


def _text(time: timedelta) -> str:
    return f"{int(time.total_seconds())}s"
