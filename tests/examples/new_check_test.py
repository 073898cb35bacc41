"""How a check is added: docs/development.md, "A new check", step by step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated

import pytest
import structlog
from pydantic import Field

from mirrorwatch.config import Config
from mirrorwatch.config.base import FROM_DATACLASS
from mirrorwatch.config.root import LimitsConfig
from mirrorwatch.domain.checks import CHECKS, Check
from mirrorwatch.domain.metrics import Sample, gauge
from mirrorwatch.domain.notices.model import CheckAlarms
from mirrorwatch.domain.report import (
    Finding,
    Health,
    Observation,
    Verdict,
    conclude,
)
from mirrorwatch.pipeline import Pipeline
from mirrorwatch.ports import Report
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch.state import Database
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch_alerting.alerts import Alert, WhenHealth, check_alerts
from mirrorwatch_alerting.kapacitor import scripts
from mirrorwatch_alerting.prometheus import rules
from tests.examples import clocks_texts as texts
from tests.support.builders import FLOW, NOON
from tests.support.clock import clock_of

# 1. domain/SUBJECT.py: the fact, its limits, the check and its metrics; its
# texts in domain/SUBJECT_texts.py beside it.


@dataclass(frozen=True, kw_only=True, slots=True)
class ClocksObservation:
    """How far apart the clocks of both clusters are."""

    flow: str
    at: datetime
    skew: timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class ClocksLimits:
    """Limits of the check."""

    warning: timedelta = field(
        default=timedelta(seconds=1), metadata={"title": "Warning above"}
    )
    """Above this, latencies between the sites mean nothing."""


def judge_clocks(
    flow: str,
    seen: ClocksObservation | None,
    limits: ClocksLimits,
    now: datetime,
) -> Verdict:
    def find() -> Iterator[Finding]:
        if seen is None:
            yield texts.NO_DATA.found(Health.UNKNOWN)
        elif seen.skew > limits.warning:
            yield texts.APART.found(
                Health.WARNING, seconds=seen.skew.total_seconds()
            )
        else:
            yield texts.OK.found(Health.OK)

    return conclude(find(), flow=flow, check="clocks", now=now, evidence={})


SKEW = gauge("clock_skew_seconds", "seconds", "clocks", ("flow",), "Skew")


def clocks_samples(seen: ClocksObservation, _: datetime) -> Iterator[Sample]:
    yield Sample(SKEW, (seen.flow,), seen.skew.total_seconds())


# 2. domain/checks.py: one row.

CLOCKS = Check(
    name="clocks",
    texts=texts,
    observation=ClocksObservation,
    judge=judge_clocks,
    limits=ClocksLimits,
    metrics=(SKEW,),
    samples=clocks_samples,
    alarms=CheckAlarms(
        warning="the clocks of the clusters disagree",
    ),
)

# 3. config/root.py: the key of its limits.


class MoreLimitsConfig(LimitsConfig):
    clocks: Annotated[ClocksLimits, FROM_DATACLASS] = Field(
        default_factory=ClocksLimits, title="Clocks"
    )


# 4. sources/SUBJECT.py: its source; 5. wiring/flows.py makes it.


class ClocksSource:
    name = "clocks"

    def observe(self, now: datetime) -> Sequence[Observation]:
        skew = timedelta(seconds=90)
        return [ClocksObservation(flow=FLOW.name, at=now, skew=skew)]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHECKS, "clocks", CLOCKS)


def report(limits: MoreLimitsConfig, *sinks: PrometheusSink) -> Report:
    cluster = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    config = Config.from_mapping(
        {
            "clusters": {"summit": cluster, "ldf": cluster},
            "flows": [{"source": "summit", "target": "ldf"}],
        }
    )
    flow = config.flows[0].model_copy(update={"limits": limits})
    return Pipeline(
        flows=[flow.flow],
        limits={flow.name: config.to_limits(flow)},
        sources=[ClocksSource()],
        sinks=sinks,
        verdicts=VerdictStore(Database(None)),
        clock=clock_of(lambda: NOON),
        logger=structlog.get_logger(),
    ).tick()


def verdict(limits: MoreLimitsConfig) -> Verdict:
    (found,) = (v for v in report(limits).verdicts if v.check == "clocks")
    return found


def test_its_verdict_is_in_every_report() -> None:
    found = verdict(MoreLimitsConfig())
    assert (found.flow, found.health) == (FLOW.name, Health.WARNING)
    assert found.codes == ("clocks.apart",)
    assert found.findings[0].numbers == {"seconds": 90.0}


def test_its_limits_come_from_the_configuration() -> None:
    limits = MoreLimitsConfig.model_validate({"clocks": {"warning": "2m"}})
    assert verdict(limits).health is Health.OK


def test_its_metrics_are_exported() -> None:
    prometheus = PrometheusSink()
    report(MoreLimitsConfig(), prometheus)
    text = prometheus.exposition()[0].decode()
    name = "mirrorwatch_clock_skew_seconds"
    assert f'\n{name}{{flow="summit->ldf"}} 90.0\n' in text
    assert 'check="clocks"' in text


def test_its_alerts_are_raised_by_prometheus_and_kapacitor() -> None:
    alerts = tuple(check_alerts())

    def of_clocks(alert: Alert) -> bool:
        when = alert.when
        return isinstance(when, WhenHealth) and "clocks" in when.checks

    names = ["MirrorwatchClocksWarning", "MirrorwatchBlind"]
    assert [alert.name for alert in filter(of_clocks, alerts)] == names
    assert all(f"alert: {name}\n" in rules(alerts) for name in names)
    flow_script = scripts(alerts)["mirrorwatch-flow"]
    assert '"clocks.raised"' in flow_script
    assert "the clocks of the clusters disagree" in flow_script
