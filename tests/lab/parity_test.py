"""Topics and configurations of a real mirror: what drifts, and what heals."""

from collections.abc import Iterator

import pytest

from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.findings import find, is_found
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


def is_so(watch: Watch, check: str, health: Health, code: str = "") -> Verdict:
    """Wait until a check finds something; return its verdict."""
    return watch.wait_for(health, code, check=check)


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
            lambda: is_found(agent.verdict("topics"), "topics.ok", topics=8),
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
            fewer: dict[str, str | float | None] = {
                "topic": "shop.b",
                "source_partitions": 4,
                "target_partitions": 2,
            }
            verdict = is_so(
                agent, "topics", Health.WARNING, "topics.partitions"
            )
            find(verdict, "topics.partitions", **fewer)
            verdict = is_so(agent, "configs", Health.WARNING, "configs.differ")
            find(
                verdict,
                "configs.differ",
                topic="shop.a",
                property="max.message.bytes",
                topics=1,
            )
            lab.create_topic("shop.late")
            verdict = is_so(agent, "topics", Health.CRITICAL, "topics.missing")
            find(verdict, "topics.missing", topic="shop.late", topics=1)
            find(verdict, "topics.partitions", **fewer)
        finally:
            lab.mirror.thaw()
        is_so(agent, "topics", Health.OK)
        is_so(agent, "configs", Health.OK)


def test_partitions_that_were_added_at_the_target_are_told(lab: Lab) -> None:
    lab.create_topic("shop.c", 2)
    names = lab.target.topics.names
    wait_until(lambda: names().get("shop.c") == 2)
    with watch(lab) as agent:
        is_so(agent, "topics", Health.OK)
        lab.target.topics.grow("shop.c", 3)
        verdict = is_so(agent, "topics", Health.WARNING, "topics.partitions")
        find(
            verdict,
            "topics.partitions",
            topic="shop.c",
            source_partitions=2,
            target_partitions=3,
        )
        lab.grow("shop.c", 3)
        is_so(agent, "topics", Health.OK)


def test_a_topic_that_the_mirror_does_not_want_is_told_until_it_does(
    lab: Lab,
) -> None:
    with watch(lab, r"extra\..*") as agent:
        is_so(agent, "topics", Health.OK)
        lab.create_topic("extra.one")
        verdict = is_so(agent, "topics", Health.CRITICAL, "topics.filtered")
        find(verdict, "topics.filtered", topic="extra.one", topics=1)
        lab.mirror.stop()
        lab.mirror.start({"summit->ldf.topics": rf"{FILTER},extra\..*"})
        is_so(agent, "topics", Health.OK)
        assert "extra.one" in lab.target.topics.names()
