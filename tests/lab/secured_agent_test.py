"""The agent on a secured lab with the rights that it needs, and without."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.acls import Right
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Health
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.reader import read_range
from mirrorwatch.sources.canary.consumer import CanaryConsumer
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.rights import (
    CONFIGS,
    DENIED,
    READ_SOURCE,
    READ_TARGET,
    RIGHTS,
    WRITE,
    expect,
    on,
    until,
)
from tests.support.secured import (
    names,
    secrets,
    secured,
    taken,
    watching,
    write_config,
)
from tests.support.sink_process import everything_said
from tests.support.truth import Truth
from tests.support.watch import Watch, describe, wait_until

pytestmark = pytest.mark.lab

HELD = "mirrorwatch.held"
"""A canary topic with no record but those of one agent."""

MADE = "mirrorwatch.made"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(secured(topics={CANARY_TOPIC: 6, HELD: 3})) as lab:
        for side, place in (("source", lab.source), ("target", lab.target)):
            place.grants.grant([r for r in RIGHTS if r.side == side])
        for right in RIGHTS:
            expect(lab, right, None)
        yield lab


def expect_ok(watch: Watch) -> None:
    watch.wait_for(Health.OK)


def test_with_the_minimal_rights_the_verdict_names_each_one_taken_away(
    lab: Lab,
) -> None:
    with watching(lab) as watch:
        expect_ok(watch)
        watch.wait_for_count("delivered", 30)
        for right in RIGHTS:
            with taken(lab, right):
                names(watch, right)
                if right.check != "canary":
                    # It goes on without.
                    expect_ok(watch)
            expect_ok(watch)
        delivered = watch.counts["delivered"]
        watch.wait_for_count("delivered", delivered + 30)
        counts = watch.counts
    assert counts["failed"] > 0
    assert counts["lost"] == counts["duplicates"] == 0


@pytest.mark.parametrize(
    "right",
    [
        WRITE,
        *(
            pytest.param(right, marks=pytest.mark.long)
            for right in (READ_SOURCE, READ_TARGET, CONFIGS)
        ),
    ],
    ids=lambda r: f"{r.side}: {r}",
)
def test_an_agent_that_starts_without_a_right_names_it_and_recovers(
    lab: Lab, right: Right
) -> None:
    with ExitStack() as stack:
        with taken(lab, right):
            # Known to be gone: the agent shall never have had it.
            expect(lab, right, DENIED)
            watch = stack.enter_context(watching(lab))
            names(watch, right)
        expect_ok(watch)


@pytest.mark.long
def test_lag_is_not_called_even_of_topics_that_the_agent_is_not_shown(
    lab: Lab,
) -> None:
    with watching(lab) as watch:

        def says_so() -> bool:
            lag = watch.verdict("lag")
            return (
                lag is not None
                and lag.health is Health.UNKNOWN
                and lag.code == "lag.hidden-topics"
                and HELD in lag.reason
            )

        wait_until(says_so, what=lambda: watch.verdict("lag"))
    # A flow that does not carry them misses nothing.
    only = {"topics": {"include": [CANARY_TOPIC]}}
    with Watch(lab, flow=only) as watch:
        expect_ok(watch)
        watch.let_pass(5)
        lag = watch.wait_for(Health.OK, check="lag")
    assert lag.evidence["topics"] == 1


def test_no_probe_is_lost_from_the_books_when_a_producer_dies(
    lab: Lab,
) -> None:
    write, read = on(HELD, WRITE, READ_SOURCE)
    lab.source.grants.grant([read])
    lab.target.grants.grant(on(HELD, READ_TARGET))
    # An idempotent producer dies only if it may write to no topic at all.
    with taken(lab, WRITE):
        expect(lab, WRITE, DENIED)
        # So long that no send is in doubt, however busy the machine is.
        canary = {"topic": HELD, "sized": None, "deadline": "90s"}
        watch = watching(lab, canary=canary)
        with watch:
            names(watch, write)
            watch.wait_for_count("failed", 10)
            lab.source.grants.grant([write])
            expect_ok(watch)
            watch.wait_for_count("delivered", 30)
    totals = Truth(lab, HELD).check(watch)
    assert totals["failed"] >= 10
    assert totals["indeterminate"] == totals["lost"] == 0


@pytest.mark.long
def test_what_could_not_be_read_for_a_while_is_not_called_late(
    lab: Lab,
) -> None:
    # So long that a busy machine makes none of them late.
    with watching(lab, canary={"deadline": "25s"}) as watch:
        expect_ok(watch)
        before = watch.counts["late"]
        with taken(lab, READ_TARGET):
            wait_until(
                lambda: watch.counts["outstanding"] > 6 * 2 * 30,
                what=watch.verdict,
            )
            watch.wait_for(Health.UNKNOWN, f"lacks {READ_TARGET} at ldf")
        expect_ok(watch)
        assert watch.counts["late"] == before
        assert watch.counts["lost"] == 0


def test_reading_is_told_to_be_well_again_even_if_nothing_comes(
    lab: Lab,
) -> None:
    receiver = CanaryConsumer(
        lab.target.client_properties(),
        cluster="ldf",
        topic=CANARY_TOPIC,
        interval=timedelta(seconds=1),
        clock=utc_now,
    )

    def reads_on(*, well: bool) -> bool:
        events = list(receiver.receive(0.1))
        return (receiver.problem is None) == well and (bool(events) == well)

    with closing(receiver):
        end = lab.target.topics.ends(CANARY_TOPIC)[0][1]
        receiver.read(0, end, utc_now())
        until(lambda: reads_on(well=True), "The end was not reached")
        with taken(lab, READ_TARGET):
            until(lambda: reads_on(well=False), "Nothing was told")
            lacks = f"Mirrorwatch lacks {READ_TARGET} at ldf. Grant it"
            assert receiver.problem == lacks
            assert receiver.unread == {0}
        until(lambda: reads_on(well=True), "It was not taken back")
        assert not receiver.unread


def test_a_stretch_is_read_without_a_right_on_any_group(lab: Lab) -> None:
    client = lab.source.client_properties()
    end = Cluster("summit", client).ends(CANARY_TOPIC, [0])[0]
    found = list(
        read_range(
            client,
            cluster="summit",
            partition=(CANARY_TOPIC, 0),
            offsets=OffsetRange(0, end),
        )
    )
    assert len(found) == end > 0


def test_a_wrong_password_is_told_without_telling_it(lab: Lab) -> None:
    wrong = "not-the-password-of-summit"
    with watching(lab, kafka={"sasl.password": wrong}) as watch:
        wait_until(
            lambda: watch.says("summit rejects mirrorwatch's cred"),
            what=watch.verdict,
        )
        said = repr(watch.agent.latest.get())
    assert not any(secret in said for secret in (wrong, *secrets(lab)))


def test_a_missing_topic_that_may_not_be_made_names_the_right(
    lab: Lab,
) -> None:
    lab.source.grants.grant(on(MADE, WRITE, READ_SOURCE))
    lab.target.grants.grant(on(MADE, READ_TARGET))
    (create,) = on(MADE, replace(WRITE, operation="CREATE"))
    plain = {"topic": MADE, "sized": None}
    with watching(lab, canary={**plain, "create": False}) as watch:
        absent = {"topic": MADE, "cluster": "summit"}
        watch.wait_for(Health.UNKNOWN, "canary.no-topic", **absent)
    with watching(lab, canary=plain) as watch:
        names(watch, create)
        lab.source.grants.grant([create])
        expect_ok(watch)
    assert lab.source.topics.names()[MADE] == 6


@pytest.mark.long
@pytest.mark.parametrize("admitted", [True, False])
def test_no_secret_is_in_anything_that_the_agent_says_or_writes(
    lab: Lab, tmp_path: Path, *, admitted: bool
) -> None:
    wrong = "not-the-password-of-ldf"
    config = write_config(lab, tmp_path)
    password = describe(lab)["clusters"]["ldf"]["kafka"]["sasl.password"]
    env = {"LDF_SECRET": password if admitted else wrong}
    until = "probes arrive" if admitted else "ldf rejects"
    said = everything_said(config, tmp_path / "state.db", env, until)
    assert said.pop("stdout") == b""
    assert [name for name, output in said.items() if not output] == []
    assert [
        name
        for name, output in said.items()
        if any(s.encode() in output for s in (wrong, *secrets(lab)))
    ] == []
