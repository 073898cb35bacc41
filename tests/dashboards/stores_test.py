"""Every query of every dashboard, asked of real stores with real figures."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.losses.metrics import LOST
from mirrorwatch.domain.samples import EVENTS
from mirrorwatch_dashboards import influxql, promql
from mirrorwatch_dashboards.boards import BOARDS
from mirrorwatch_dashboards.panels import PAGE, Panel, Reading
from tests.support.alert_servers import play
from tests.support.dashboards import (
    ASK,
    LAB,
    REPORTED,
    Asked,
    Stores,
    ask_influxql,
    asked,
    fill_chronograf,
    fill_grafana,
    filled_stores,
    series_of,
    values_of,
)
from tests.support.full_report import a_full_report
from tests.support.influx import POLICY, InfluxServer
from tests.support.tick_site import Chronograf

pytestmark = [pytest.mark.lab, pytest.mark.influx]

LAB_CHOICE = {
    "flow": LAB.name,
    "topic": "lsst.sal.MTMount.azimuth",
    "class": ".*",
}
REPORTED_CHOICE = {
    "flow": REPORTED.name,
    "topic": "telemetry",
    "class": ".*",
}
OTHER_TOPIC = {**REPORTED_CHOICE, "topic": "lsst.sal.ESS.temperature"}

NOTHING_OF_THE_LAB = {
    "Events": "none happened",
    "Verdict of the check": "checks that are off are not shown",
    **dict.fromkeys(
        [
            "Last completed audit",
            "Dropped records",
            "Corrupted records",
            "Extra records",
            "Duplicated records",
            "Unverifiable offsets",
            "Findings of each night",
            "Findings by topic",
        ],
        "no audit is configured there",
    ),
    "Checkpoint latency": "no consumer group is there",
    **dict.fromkeys(
        [
            "Age of consumer lag at the target",
            "Consumer lag at the target",
            "Consumer groups at the target",
        ],
        "no reader is configured there",
    ),
    **dict.fromkeys(
        [
            "Schemas at the target",
            "Schemas resolved",
            "Delay of schemas",
        ],
        "no registry is configured there",
    ),
}
"""Panels that are empty for the real flow, and why."""

NOTHING_OF_THE_REPORT = {
    "Events": "titles are no numbers, and none happens while it is scraped",
    "Verdict of the check": "it has no such verdict",
}
"""Panels that are empty for the flow of the full report, and why."""

STILL = "quantiles and the share of probes need probes, and none comes"
"""Why those of the report, which does not change, are empty in Prometheus."""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with filled_stores(tmp_path_factory.mktemp("stores")) as stores:
        yield stores


@pytest.mark.parametrize("store", ASK)
def test_the_real_flow_is_on_every_panel_but_those_named(
    stores: Stores, store: str
) -> None:
    folder, ask = ASK[store]
    wrong = {
        query.name: query.text
        for query in asked(folder)
        if bool(ask(stores, query, LAB_CHOICE))
        is (_panel(query).title in NOTHING_OF_THE_LAB)
    }
    assert not wrong


@pytest.mark.parametrize("store", ASK)
def test_what_a_lab_does_not_show_is_on_every_panel_but_those_named(
    stores: Stores, store: str
) -> None:
    folder, ask = ASK[store]
    wrong = {}
    for query in asked(folder):
        found = ask(stores, query, REPORTED_CHOICE)
        found = found or ask(stores, query, OTHER_TOPIC)
        empty = _panel(query).title in NOTHING_OF_THE_REPORT
        still = store == "Prometheus" and any(
            word in query.text for word in ("quantile", "level_good")
        )
        if bool(found) is (empty or still):
            wrong[query.name] = query.text
    assert not wrong, STILL


def test_all_stores_say_the_same_of_what_stands_still(stores: Stores) -> None:
    said: dict[tuple[str, str], dict[str, set[float]]] = defaultdict(dict)
    for store, (folder, ask) in ASK.items():
        for query in asked(folder):
            panel = _panel(query)
            if not _is_still(panel):
                continue
            chosen = {**REPORTED_CHOICE, "topic": "lsst.sal.ESS.temperature"}
            found = {round(x, 6) for x in ask(stores, query, chosen)}
            by_store = said[query.board, panel.title]
            place = by_store.setdefault(store, set())
            place |= found
    assert len(said) > 40
    differ = {
        panel: by_store
        for panel, by_store in said.items()
        if len({frozenset(values) for values in by_store.values()}) != 1
    }
    assert differ == {}


def test_variables_offer_what_there_is(stores: Stores) -> None:
    offered: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for variable in {PAGE, *(v for b in BOARDS for v in b.variables)}:
        label = variable.label
        text = promql.choices(variable, [])
        series = text.removeprefix("label_values(").partition(",")[0]
        series = series.replace("$job", ".+")
        data = stores.prometheus.ask(
            "series", **{"match[]": series, "start": "0"}
        )
        # It has no empty labels: an agent without an address has no page.
        offered[label]["Prometheus"] = {
            found[label] for found in data if label in found
        }
        text = influxql.choices(variable, [], influxql.GRAFANA)
        for name, server in (("1", stores.influx1), ("2", stores.influx2)):
            (found,) = ask_influxql(server, text)
            offered[label][name] = {value for _, value in found["values"]}
    for by_store in offered.values():
        assert len({frozenset(values) for values in by_store.values()}) == 1
    assert LAB.name in offered["flow"]["1"]
    assert LAB_CHOICE["topic"] in offered["topic"]["1"]
    assert "telemetry" in offered["class"]["1"]


def test_a_variable_is_narrowed_by_those_before_it(stores: Stores) -> None:
    (board,) = (b for b in BOARDS if b.name == "topic-detail")
    flow, topic, _ = board.variables
    text = influxql.choices(topic, [flow], influxql.GRAFANA)
    (found,) = ask_influxql(stores.influx1, _fill(text, REPORTED.name))
    topics = {value for _, value in found["values"]}
    assert OTHER_TOPIC["topic"] in topics
    assert LAB_CHOICE["topic"] not in topics


def test_events_are_listed_and_marked_with_their_titles(
    stores: Stores,
) -> None:
    titles = {event.title for event in a_full_report(stores.at).events}
    assert titles
    mark = influxql.ANNOTATIONS["Events"][1]["query"]
    for server in (stores.influx1, stores.influx2):
        for text in (
            _fill(mark, REPORTED.name),
            fill_grafana(
                _list_of_events("grafana-influxql"), REPORTED_CHOICE, stores.at
            ),
        ):
            assert _titles(server, text) == titles
    listed = _list_of_events("chronograf")
    text = fill_chronograf(listed.text, REPORTED_CHOICE, stores.at)
    text = text.replace("autogen", POLICY)
    assert _titles(stores.influx1, text) == titles


def _list_of_events(folder: str) -> Asked:
    (found,) = (query for query in asked(folder) if query.panel == "Events")
    return found


def _titles(server: InfluxServer, text: str) -> set[str]:
    """Return the titles of events that have a flow and a code."""
    found = set()
    for one in ask_influxql(server, text):
        tags = one.get("tags", {})
        for row in one["values"]:
            event = tags | dict(zip(one["columns"], row, strict=True))
            assert event["flow"]
            assert event["code"]
            found.add(event[influxql.TITLE])
    return found


def test_prometheus_lists_the_codes_of_events_that_happened(
    tmp_path: Path,
) -> None:
    listed = _list_of_events("grafana-prometheus")
    series = f'{EVENTS.name}{{job="j",flow="{REPORTED.name}",code='
    text = fill_grafana(listed, REPORTED_CHOICE, utc_now())
    play(
        {
            "rule_files": [],
            "evaluation_interval": "1m",
            "tests": [
                {
                    "interval": "1m",
                    "input_series": [
                        {
                            "series": f'{series}"happened"}}',
                            "values": "0x8 2x8",
                        },
                        {"series": f'{series}"before"}}', "values": "3x16"},
                    ],
                    "promql_expr_test": [
                        {
                            "expr": text,
                            "eval_time": "16m",
                            "exp_samples": [
                                {
                                    "labels": f'{{flow="{REPORTED.name}",'
                                    ' code="happened"}',
                                    "value": 2,
                                }
                            ],
                        }
                    ],
                }
            ],
        },
        tmp_path,
    )


def test_the_first_event_and_the_first_loss_are_growth(stores: Stores) -> None:
    # A counter that appears with its first event would not have grown.
    for flow, value in ((LAB.name, "0"), (REPORTED.name, "3")):
        query = f'{EVENTS.name}{{flow="{flow}",code="skips.dropped"}}'
        assert _prometheus_values(stores, query) == [value]
    lost = f'{LOST.name}{{flow="{LAB.name}"}}'
    assert {*_prometheus_values(stores, lost)} == {"0"}
    for _, fields in promql.ANNOTATIONS.values():
        _prometheus_values(stores, _fill(fields["expr"]))


def _prometheus_values(stores: Stores, query: str) -> list[str]:
    at = stores.at.timestamp()
    found = stores.prometheus.ask("query", query=query, time=at)
    return [row["value"][1] for row in found["result"]]


@pytest.mark.chronograf
def test_chronograf_asks_what_influxdb_was_asked(
    stores: Stores, tmp_path: Path
) -> None:
    server = Chronograf(tmp_path, stores.influx1)
    try:
        server.start()
        source = server.add_source("stores")
        empty = set()
        for query in asked("chronograf"):
            text = fill_chronograf(query.text, LAB_CHOICE, stores.at)
            text = text.replace("autogen", POLICY)
            answer = server.ask(
                "POST",
                f"/chronograf/v1/sources/{source}/proxy",
                json={"query": text, "db": "mirrorwatch"},
                # It wants to be asked by a page, not by a link to it.
                headers={"X-Requested-With": "XMLHttpRequest"},
            )
            if not values_of(series_of(text, answer)):
                empty.add(_panel(query).title)
        assert empty == {*NOTHING_OF_THE_LAB} - {
            "Last completed audit"  # not in Chronograf
        }
    finally:
        server.kill()


def _panel(query: Asked) -> Panel:
    (found,) = (
        panel
        for board in BOARDS
        if board.name == query.board
        for panel in board.panels
        # Chronograf's have the words of the values behind the title.
        if query.panel == panel.title
        or query.panel.startswith(f"{panel.title} (0 ")
    )
    return found


def _is_still(panel: Panel) -> bool:
    return all(
        query.reading is Reading.GAUGE and "flow" in query.metric.labels
        for query in panel.queries
    )


def _fill(text: str, flow: str = LAB.name) -> str:
    query = Asked(board="", panel="", number=0, text=text)
    return fill_grafana(query, {"flow": flow}, utc_now())
