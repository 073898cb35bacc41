"""Topics and configurations of a real mirror: what drifts, and what heals."""

from collections.abc import Iterator

import pytest

from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.watch import Watch, wait_until

FILTER = r"mirrorwatch\..*,shop\..*"
"""What the mirror carries; the flow says that it carries more."""

BYTES = "max.message.bytes"

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A mirror that looks for topics, and copies configurations, each
    second.
    """
    settings = LabSettings(
        intervals="fast",
        topics={CANARY_TOPIC: 1, "shop.a": 2, "shop.b": 2},
        topic_configs={"shop.a": {BYTES: "2000000"}},
        mirror_properties={"summit->ldf.topics": FILTER},
    )
    with Lab(settings) as lab:
        yield lab


def watch(lab: Lab, *include: str, least: str = "5s") -> Watch:
    return Watch(
        lab,
        flow={
            "topics": {"include": [*FILTER.split(","), *include]},
            "limits": {
                "topics": {"least": least},
                "configs": {"every": "2s", "slack": least},
            },
        },
    )


def is_so(
    watch: Watch, check: str, health: Health, reason: str = ""
) -> Verdict:
    """Wait until a check says something, word by word; return its verdict."""
    return watch.wait_for(health, reason, check=check)


def test_nothing_is_said_of_new_topics_partitions_and_configurations(
    lab: Lab,
) -> None:
    # So long that a busy machine's mirror has done it before.
    with watch(lab, least="20m") as agent:
        for check in ("topics", "configs"):
            is_so(agent, check, Health.OK)
        said: set[tuple[str, Health]] = set()

        def note() -> bool:
            report = agent.agent.latest.get()
            assert report is not None
            said.update((v.check, v.health) for v in report.verdicts)
            names = lab.target.topics.names()
            return [names.get(f"shop.new{n}") for n in range(5)] == [3] * 5

        for n in range(5):
            lab.create_topic(f"shop.new{n}", configs={"retention.ms": "9000"})
            wait_until(
                lambda n=n: f"shop.new{n}" in lab.target.topics.names(),  # type: ignore[misc]
            )
            lab.grow(f"shop.new{n}", 3)
            lab.source.topics.set_configs(f"shop.new{n}", {BYTES: "500000"})
        wait_until(note)
        agent.let_pass(5)
        note()
        # Those of the settings, those five and no others.
        wait_until(
            lambda: is_so(agent, "topics", Health.OK).evidence["topics"] == 8,
            what=lambda: agent.verdict("topics"),
        )
        is_so(agent, "configs", Health.OK)
        amiss = {h for c, h in said if c in {"topics", "configs"}}
        # A busy machine can make a survey late, which is unknown at most.
        assert amiss <= {Health.OK, Health.UNKNOWN}


def test_what_a_mirror_that_stands_leaves_undone_is_told_until_it_is_done(
    lab: Lab,
) -> None:
    with watch(lab) as agent:
        is_so(agent, "topics", Health.OK)
        is_so(agent, "configs", Health.OK)
        lab.mirror.freeze()
        try:
            lab.grow("shop.b", 4)
            lab.source.topics.set_configs("shop.a", {BYTES: "3000000"})
            wording = "shop.b has 4 partitions at summit but only 2 at ldf for"
            is_so(agent, "topics", Health.WARNING, wording)
            reason = (
                "max.message.bytes of shop.a is 3000000 at summit but "
                "2000000 at ldf. A record too large for the target can stop "
                "MirrorMaker. MirrorMaker syncs topic configs every 1 s but "
                "has not synced this one. Check that it runs and may "
                "ALTER_CONFIGS"
            )
            verdict = is_so(agent, "configs", Health.WARNING, reason)
            assert verdict.reason == reason
            assert verdict.evidence["config_drifts"] == 1
            lab.create_topic("shop.late")
            late = ": shop.late. MirrorMaker refreshes topics every"
            verdict = is_so(agent, "topics", Health.CRITICAL, late)
            assert verdict.reason.startswith("Missing at ldf for ")
            assert late in verdict.reason
            assert wording in str(verdict.evidence["also_1"])
            assert verdict.evidence["missing_topics"] == 1
            assert verdict.evidence["partition_mismatches"] == 1
        finally:
            lab.mirror.thaw()
        verdict = is_so(agent, "topics", Health.OK)
        assert verdict.evidence["partition_mismatches"] == 0
        is_so(agent, "configs", Health.OK)


def test_partitions_that_were_added_at_the_target_are_told(lab: Lab) -> None:
    lab.create_topic("shop.c", 2)
    names = lab.target.topics.names
    wait_until(lambda: names().get("shop.c") == 2)
    with watch(lab) as agent:
        is_so(agent, "topics", Health.OK)
        lab.target.topics.grow("shop.c", 3)
        reason = "shop.c has 3 partitions at ldf but only 2 at summit: "
        verdict = is_so(agent, "topics", Health.WARNING, reason)
        assert verdict.reason.startswith(reason)
        lab.grow("shop.c", 3)
        is_so(agent, "topics", Health.OK)


def test_a_topic_that_the_mirror_does_not_want_is_told_until_it_does(
    lab: Lab,
) -> None:
    with watch(lab, r"extra\..*") as agent:
        is_so(agent, "topics", Health.OK)
        lab.create_topic("extra.one")
        reason = (
            "MirrorMaker's topic filter does not match extra.one, so it is "
            "not copied. Add it to the connector's topics, or remove it from "
            "topics.include"
        )
        verdict = is_so(agent, "topics", Health.CRITICAL, reason)
        assert verdict.reason == reason
        assert verdict.evidence["missing_topics"] == 1
        lab.mirror.stop()
        lab.mirror.start({"summit->ldf.topics": rf"{FILTER},extra\..*"})
        is_so(agent, "topics", Health.OK)
        assert "extra.one" in lab.target.topics.names()
