"""Variables of dashboards, which are read by what they stand for."""

from typing import Any

import pytest

from mirrorwatch_promotion.chronograf import rewrite_chronograf
from mirrorwatch_promotion.grafana import rewrite_grafana
from mirrorwatch_promotion.values import Rewriter, Translation, ValueKind

THERE = Translation(
    {
        ValueKind.DATABASE: {"efd": "efd_stand"},
        ValueKind.RETENTION_POLICY: {"raw": "week"},
        ValueKind.TOPIC_PREFIX: {"site": "stand."},
    },
    {
        ValueKind.DATABASE: {"efd": "efd"},
        ValueKind.RETENTION_POLICY: {"raw": "raw"},
        ValueKind.TOPIC_PREFIX: {"site": "summit."},
    },
)


def chronograf(query: str, name: str, *values: str) -> dict[str, Any]:
    return {
        "name": "Dome",
        "templates": [
            {
                "tempVar": f":{name}:",
                "type": "csv",
                "sourceID": "",
                "values": [{"type": "csv", "value": v} for v in values],
            }
        ],
        "cells": [
            {
                "name": "Angle",
                "queries": [
                    {"query": query, "source": "", "type": "influxql"}
                ],
            }
        ],
    }


def grafana(asked: str, **variable: Any) -> dict[str, Any]:
    source = {"type": "influxdb", "uid": ""}
    return {
        "title": "Dome",
        # Declared before it is used, as in every dashboard.
        "templating": {"list": [variable]},
        "panels": [{"datasource": source, "targets": [{"query": asked}]}],
    }


@pytest.mark.parametrize(
    ("query", "old", "new"),
    [
        ('SELECT x FROM :it:."week"."m"', "efd_stand", "efd"),
        ('SELECT x FROM "efd_stand".:it:.m', "week", "raw"),
        ("SELECT x FROM m WHERE t = ':it:'", "stand.dome", "summit.dome"),
        ("SELECT x FROM m WHERE t = ':it:'", "efd_stand", "efd_stand"),
    ],
)
def test_a_value_of_chronografs_variable_is_what_it_stands_for(
    query: str, old: str, new: str
) -> None:
    rewriter = Rewriter(THERE)
    sent = rewrite_chronograf(chronograf(query, "it", old), rewriter)
    assert rewriter.stops == []
    assert [v["value"] for v in sent["templates"][0]["values"]] == [new]


def test_a_database_that_a_variable_offers_and_the_map_lacks_stops() -> None:
    rewriter = Rewriter(THERE)
    board = chronograf("SELECT x FROM :db:..m", "db", "efd_stand", "other")
    rewrite_chronograf(board, rewriter)
    assert [str(stop) for stop in rewriter.stops] == [
        "variable :db:: database 'other' is not in the map of both sites"
    ]


@pytest.mark.parametrize("used", ["$db", "${db}", "${db:raw}", "[[db]]"])
def test_a_value_of_grafanas_variable_is_what_it_stands_for(
    used: str,
) -> None:
    option = {"text": "efd_stand", "value": "efd_stand", "selected": True}
    board = grafana(
        'SELECT x FROM "$db".."stand.dome"'.replace("$db", used),
        name="db",
        type="custom",
        query="EFD : efd_stand",
        current={"text": "EFD", "value": "efd_stand"},
        options=[option],
    )
    rewriter = Rewriter(THERE)
    sent = rewrite_grafana(board, rewriter)
    assert rewriter.stops == []
    (variable,) = sent["templating"]["list"]
    assert variable["query"] == "EFD : efd"
    assert variable["current"] == {"text": "EFD", "value": "efd"}
    assert variable["options"] == [option | {"text": "efd", "value": "efd"}]
    assert list(variable) == list(board["templating"]["list"][0])


def test_grafana_stops_at_a_database_that_only_a_variable_names() -> None:
    rewriter = Rewriter(THERE)
    board = grafana(
        'from(bucket: "${db}") |> yield()',
        name="db",
        type="constant",
        query="other",
    )
    rewrite_grafana(board, rewriter)
    (stop,) = rewriter.stops
    assert "'db': query: database 'other' is not in the map" in str(stop)


def test_several_choices_and_the_filter_of_them_name_the_other_site() -> None:
    board = grafana(
        "SELECT x FROM m WHERE t =~ /^$t$/",
        name="t",
        type="custom",
        query="stand.a, stand.b,c",
        current={
            "text": ["stand.a", "stand.b"],
            "value": ["stand.a", "stand.b"],
        },
        regex=r"/^stand\.(.*)/",
    )
    rewriter = Rewriter(THERE)
    (variable,) = rewrite_grafana(board, rewriter)["templating"]["list"]
    assert rewriter.stops == []
    assert variable["query"] == "summit.a, summit.b,c"
    both = ["summit.a", "summit.b"]
    assert variable["current"] == {"text": both, "value": both}
    assert variable["regex"] == r"/^summit\.(.*)/"


def test_all_of_them_stay_all_of_them() -> None:
    chosen = {"text": ["All"], "value": ["$__all"]}
    board = grafana(
        'SELECT x FROM "$db"..m',
        name="db",
        type="query",
        query="SHOW DATABASES",
        current=chosen,
    )
    rewriter = Rewriter(THERE)
    (variable,) = rewrite_grafana(board, rewriter)["templating"]["list"]
    assert rewriter.stops == []
    assert variable["current"] == chosen


def test_fields_that_overrides_are_for_and_regexes_of_builders_follow() -> (
    None
):
    board = {
        "panels": [
            {
                "datasource": {"type": "influxdb", "uid": ""},
                "targets": [{"measurement": r"/^stand\.d/"}],
                "fieldConfig": {
                    "overrides": [
                        {"matcher": {"id": "byName", "options": "stand.a"}},
                        {
                            "matcher": {
                                "id": "byRegexp",
                                "options": "/^stand./",
                            }
                        },
                    ]
                },
            }
        ]
    }
    rewriter = Rewriter(THERE)
    (panel,) = rewrite_grafana(board, rewriter)["panels"]
    assert rewriter.stops == []
    assert panel["targets"][0]["measurement"] == r"/^summit\.d/"
    assert [
        override["matcher"]["options"]
        for override in panel["fieldConfig"]["overrides"]
    ] == ["summit.a", "/^summit./"]
