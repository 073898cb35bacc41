"""Which topics ``/api/topics`` lists, and in which order."""

import time
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.lag.model import LagStatus
from mirrorwatch.web.topics import SORTS, TopicsQuery, choose
from tests.support.builders import a_report
from tests.support.stage import Stage
from tests.support.topics_report import (
    MANY,
    a_lag,
    a_topic,
    many_topics,
    some_skips,
    some_topics,
)


def names(client: httpx.Client, query: str) -> list[str]:
    (flow,) = client.get(f"/api/topics{query}").json()["flows"]
    return [
        topic["topic"].removeprefix("lsst.sal.") for topic in flow["topics"]
    ]


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("?class=commands", ["MTMount.command_start"]),
        ("?class=", []),
        ("?status=stalled", ["MTMount.elevation"]),
        ("?search=ELEV", ["MTMount.elevation"]),
        ("?search=.*", []),
        ("?class=events&status=even", ["ATDome.history"]),
        (
            "?sort=topic",
            [
                "ATDome.history",
                "ESS.temperature",
                "MTMount.command_start",
                "MTMount.elevation",
                "MTMount.logevent_summaryState",
            ],
        ),
        (
            "?sort=topic&order=desc&top=2",
            ["MTMount.logevent_summaryState", "MTMount.elevation"],
        ),
        (
            "?sort=lag_records&order=desc&top=2",
            ["MTMount.elevation", "MTMount.logevent_summaryState"],
        ),
        ("?sort=missing_records&order=desc&top=1", ["MTMount.elevation"]),
        ("?sort=time_to_loss_seconds&top=1", ["MTMount.command_start"]),
    ],
)
def test_topics_are_chosen_and_put_in_order(
    client: httpx.Client, stage: Stage, query: str, listed: list[str]
) -> None:
    stage.tick(a_report(observations=[a_lag(some_topics()), some_skips()]))

    assert names(client, query) == listed


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_what_is_not_known_is_last_either_way(
    client: httpx.Client, stage: Stage, order: str
) -> None:
    stage.tick(a_report(observations=[a_lag(some_topics())]))

    by_loss = names(client, f"?sort=time_to_loss_seconds&order={order}")

    assert by_loss[-1] == "ATDome.history"


def test_sums_are_those_of_all_topics_whatever_is_chosen(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_report(observations=[a_lag(many_topics(behind=40))]))

    answer = client.get("/api/topics?class=events&status=moving&top=3")

    (flow,) = answer.json()["flows"]
    assert (flow["matching"], len(flow["topics"])) == (13, 3)
    assert flow["totals"]["topics"] == MANY


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?status=fine", "one of even"),
        ("?sort=colour", "one of worst, topic"),
        ("?order=up", "one of asc, desc"),
    ],
)
def test_nonsense_is_refused_with_what_is_allowed(
    client: httpx.Client, query: str, told: str
) -> None:
    answer = client.get(f"/api/topics{query}")

    assert answer.status_code == 400
    assert told in answer.json()["error"]


topics = st.builds(
    a_topic,
    st.text("ab", min_size=1, max_size=3),
    records=st.integers(0, 3),
    seconds=st.sampled_from([0, 0.5, 7]),
    status=st.sampled_from(LagStatus),
    topic_class=st.sampled_from(["", "events"]),
    drain=st.none() | st.just(timedelta(seconds=3)),
)
queries: st.SearchStrategy[Any] = st.builds(
    TopicsQuery, sort=st.sampled_from(SORTS), descending=st.booleans()
)


@given(st.lists(topics, unique_by=lambda t: t.topic), queries)
def test_an_order_neither_loses_nor_doubles_a_topic(
    seen: list[Any], query: TopicsQuery
) -> None:
    chosen = choose(seen, {}, query)

    assert sorted(t.topic for t in chosen) == sorted(t.topic for t in seen)
    assert choose(reversed(seen), {}, query) == chosen


def test_a_thousand_topics_are_chosen_without_holding_up_other_answers() -> (
    None
):
    seen = many_topics(behind=600)
    query = TopicsQuery(sort="lag_records", descending=True, search="topic")
    start = time.process_time()

    assert len(choose(seen, {}, query)) == MANY

    print(f"{MANY} topics in {time.process_time() - start:.4f} s")
