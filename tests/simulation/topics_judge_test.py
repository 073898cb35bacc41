"""Whether `topics_judge` notices what an agent says wrongly."""

from dataclasses import replace

import pytest

from mirrorwatch.domain.report import Health, Report
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import MINUTE, running
from tests.simulation.topics_judge import FactsJudge, Standing

CHECKS = "topics", "configs", "retention", "heartbeats"

OK, UNKNOWN = Health.OK, Health.UNKNOWN


def said(report: Report, check: str, health: Health) -> Report:
    """Return a report in which one check says something else."""
    return replace(
        report,
        verdicts=tuple(
            replace(v, health=health) if v.check == check else v
            for v in report.verdicts
        ),
    )


@pytest.mark.slow
def test_what_is_wrongly_said_is_noticed() -> None:
    settings = MirrorSettings(
        refresh=MINUTE, heartbeats=5.0, syncs_configs=False
    )
    flow = {
        "canary": {"enabled": False},
        "limits": {"configs": {"every": "1m"}},
    }
    reports: list[Report] = []
    with running("a", minutes=5, mirror=settings, flow=flow) as world:
        facts = FactsJudge(world, 30, every=MINUTE)
        world.agent.on_report = reports.append
        world.run(15 * MINUTE)
        assert facts.take(reports[-1]) is None
        for check in CHECKS:
            for health in (UNKNOWN, Health.WARNING, Health.CRITICAL):
                why = facts.take(said(reports[-1], check, health))
                assert why is not None
                assert why.startswith(f"{check} ")
        # All goes wrong at once.
        world.source.configure("a", "retention.ms", str(20 * 60_000))
        world.mirror.may_create = world.mirror.beats = False
        world.mirror.slowness = 100
        world.source.create("b", 1)
        world.run(25 * MINUTE)
        assert facts.take(reports[-1]) is None
        for check in CHECKS:
            why = facts.take(said(reports[-1], check, OK))
            assert why is not None
            assert why.startswith(f"{check} must be ")
        # Nothing is ok of clusters that have not answered for long.
        world.source.reachable = False
        world.run(10 * MINUTE)
        assert facts.take(reports[-1]) is None
        for check in CHECKS:
            assert facts.take(said(reports[-1], check, OK)) is not None


def test_what_stood_before_and_after_a_restart_stood_meanwhile() -> None:
    standing = Standing()
    standing.see(0, ["a"], able=100, late=30)
    assert standing.surely("a", 10) == 10
    # The agent is away; nobody sees that it ends, and begins again.
    standing.see(20, [], able=0, late=30)
    standing.see(90, [], able=0, late=30)
    standing.see(100, ["a"], able=0, late=30)
    assert (standing.longest("a", 110), standing.surely("a", 110)) == (110, 0)
    standing.see(140, ["a"], able=40, late=30)
    assert (standing.longest("a", 150), standing.surely("a", 150)) == (150, 10)


def test_what_ended_for_long_enough_begins_anew() -> None:
    standing = Standing()
    standing.see(0, ["a"], able=100, late=30)
    for now in (10, 20, 30, 50):
        standing.see(now, [], able=100 + now, late=30)
    standing.see(60, ["a"], able=160, late=30)
    assert standing.longest("a", 70) == 10


def test_what_is_kept_does_not_end_meanwhile() -> None:
    standing = Standing()
    standing.see(0, ["a"], able=100, late=30)
    for now in (10, 20, 30, 50):
        standing.see(now, [], able=100 + now, late=30, kept=["a"])
    standing.see(60, ["a"], able=160, late=30)
    assert (standing.longest("a", 70), standing.surely("a", 70)) == (70, 10)
