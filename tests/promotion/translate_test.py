"""Queries on their way to another site: what changes, and what never does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.secrets import HIDDEN
from mirrorwatch_promotion.chronograf import rewrite_chronograf
from mirrorwatch_promotion.grafana import rewrite_grafana
from mirrorwatch_promotion.item import hide
from mirrorwatch_promotion.queries import (
    join,
    rewrite_flux,
    rewrite_influxql,
    rewrite_promql,
    tokenize,
)
from mirrorwatch_promotion.values import (
    Rewriter,
    Translation,
    ValueKind,
    find_leftovers,
)

STAND = {
    ValueKind.DATABASE: {"efd": "efd_stand", "agent": "mirror stand"},
    ValueKind.RETENTION_POLICY: {"raw": "week"},
    ValueKind.TOPIC_PREFIX: {"site": "stand."},
    ValueKind.ENDPOINT: {"page": "http://stand:8080", "node": "node1.stand"},
    ValueKind.HANDLER: {"us": "#stand"},
}
SUMMIT = {
    ValueKind.DATABASE: {"efd": "efd", "agent": 'the "mirror"'},
    ValueKind.RETENTION_POLICY: {"raw": "for ever"},
    ValueKind.TOPIC_PREFIX: {"site": "summit."},
    ValueKind.ENDPOINT: {"page": "https://mirror.summit", "node": "sum7"},
    ValueKind.HANDLER: {"us": "#summit"},
}
THERE = Translation(STAND, SUMMIT)
BACK = THERE.inverse

QUERIES = [
    (
        (
            'SELECT mean("x") FROM "efd_stand"."week"."stand.dome" '
            "WHERE time > :dashboardTime: AND \"topic\" = 'stand.dome' "
            'GROUP BY time(:interval:), "host" FILL(null) -- efd_stand\n'
        ),
        (
            'SELECT mean("x") FROM "efd"."for ever"."summit.dome" '
            "WHERE time > :dashboardTime: AND \"topic\" = 'summit.dome' "
            'GROUP BY time(:interval:), "host" FILL(null) -- efd_stand\n'
        ),
    ),
    (
        (
            'SELECT * FROM efd_stand.autogen.dome, "week"."a", '
            '(SELECT "efd_stand" FROM "efd_stand".."stand.b") '
            "WHERE \"efd_stand\" = 'efd_stand'"
        ),
        (
            'SELECT * FROM "efd".autogen.dome, "for ever"."a", '
            '(SELECT "efd_stand" FROM "efd".."summit.b") '
            "WHERE \"efd_stand\" = 'efd_stand'"
        ),
    ),
    (
        'SHOW TAG VALUES ON "mirror stand" FROM "x" WITH KEY = "stand.tag"',
        (
            'SHOW TAG VALUES ON "the \\"mirror\\"" FROM "x" '
            'WITH KEY = "stand.tag"'
        ),
    ),
    (
        'SHOW TAG KEYS WITH MEASUREMENT = "stand.a"; SHOW DATABASES',
        'SHOW TAG KEYS WITH MEASUREMENT = "summit.a"; SHOW DATABASES',
    ),
    (
        "SELECT a::float / b FROM ${db}.:rp:./x/ WHERE h = 'node1.stand'",
        "SELECT a::float / b FROM ${db}.:rp:./x/ WHERE h = 'sum7'",
    ),
    ('SELECT x FROM "$table" WHERE $timeFilter', None),
    (
        r"SELECT x FROM /^(stand\.a|stand\.b)\/\d/ WHERE t !~ /stand\.x/",
        r"SELECT x FROM /^(summit\.a|summit\.b)\/\d/ WHERE t !~ /summit\.x/",
    ),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_influxql_names_the_other_site_and_comes_back_equal(
    query: str, expected: str | None
) -> None:
    rewriter = Rewriter(THERE)
    assert rewrite_influxql(query, rewriter) == (expected or query)
    back = Rewriter(BACK)
    again = rewrite_influxql(expected or query, back)
    # A bare word may come back in quotes, which is the same name.
    assert again.replace('"efd_stand".', "efd_stand.") == query.replace(
        '"efd_stand".', "efd_stand."
    )
    assert rewriter.stops == back.stops == []


@pytest.mark.parametrize(
    ("query", "stop"),
    [
        (
            'SELECT x FROM "other"."autogen"."m"',
            "q: database 'other' is not in",
        ),
        ('SELECT x FROM "efd"..m', "q: database 'efd' is not in"),
        ('SELECT x FROM "month"."m"', "q: retention policy 'month' is not"),
        ("SELECT x FROM m WHERE u = 'http://a/b'", "endpoint 'http://a/b'"),
        ("SELECT x FROM /^summit\\.dome/", "topic prefix '/^summit"),
        ("SELECT x FROM m WHERE t =~ /a.stand\\.b/", "is a regex that the"),
        ("SELECT x FROM m WHERE t =~ /stand[.]/", "is a regex that the map"),
        ('SELECT x FROM "summit.m"', "begins as names of the other site do"),
        ('SHOW MEASUREMENTS ON "b"', "database 'b'"),
        ('SELECT x INTO "b".."n" FROM "m"', "database 'b'"),
    ],
)
def test_a_value_that_the_map_does_not_know_is_named(
    query: str, stop: str
) -> None:
    rewriter = Rewriter(THERE)
    with rewriter.at("q"):
        assert rewrite_influxql(query, rewriter) == query
    (found,) = rewriter.stops
    assert stop in str(found)


def test_flux_names_the_other_site() -> None:
    query = (
        'import "efd_stand"\n'
        'from(bucket: "efd_stand/week") |> range(start: -1h)\n'
        '  |> filter(fn: (r) => r._measurement == "stand.dome") // "x"\n'
        'http.post(url: "http://stand:8080/x", channel: "#stand")'
    )
    rewriter = Rewriter(THERE)
    assert rewrite_flux(query, rewriter) == (
        'import "efd_stand"\n'
        'from(bucket: "efd/for ever") |> range(start: -1h)\n'
        '  |> filter(fn: (r) => r._measurement == "summit.dome") // "x"\n'
        'http.post(url: "https://mirror.summit/x", channel: "#stand")'.replace(
            "#stand", "#summit"
        )
    )
    assert rewriter.stops == []


def test_flux_stops_at_what_it_does_not_know() -> None:
    rewriter = Rewriter(THERE)
    rewrite_flux('from(bucket: "b/week"); f(url: "http://b")', rewriter)
    assert [stop.value for stop in rewriter.stops] == ["b", "http://b"]


def test_matchers_of_promql_name_the_other_site() -> None:
    rewriter = Rewriter(THERE)
    query = 'rate(x{topic="stand.dome", job="a"}[5m]) / y'
    assert rewrite_promql(query, rewriter) == query.replace("stand", "summit")
    regex = r'x{topic=~"stand\\.dome|stand\\.b"}'
    assert rewrite_promql(regex, rewriter) == regex.replace("stand", "summit")
    for one in ("'stand.a'", "`stand.a`", r"'it\'s'", r'"\n"'):
        query = f"x{{topic={one}}}"
        expected = query.replace("stand", "summit")
        assert rewrite_promql(query, rewriter) == expected
    plain = 'x{topic=~"stand.dome.*", node!~"node1.stand"}'
    assert rewrite_promql(plain, rewriter) == (
        'x{topic=~"summit.dome.*", node!~"sum7"}'
    )
    assert rewriter.stops == []


@pytest.mark.parametrize("regex", ["stand[.]dome", ".*stand.dome"])
def test_a_regex_of_promql_that_cannot_be_followed_stops(regex: str) -> None:
    rewriter = Rewriter(THERE)
    rewrite_promql(f'x{{topic=~"{regex}"}}', rewriter)
    assert len(rewriter.stops) == 1


names = st.sampled_from(["efd_stand", "mirror stand"])
policies = st.sampled_from(["week", "autogen", ""])
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
texts = st.one_of(anything, anything.map("stand.".__add__))


def test_two_names_of_one_value_stop_where_they_would_be_mixed_up() -> None:
    here = {ValueKind.DATABASE: {"a": "x", "b": "x", "c": "c"}}
    there = {ValueKind.DATABASE: {"a": "1", "b": "2"}}
    rewriter = Rewriter(Translation(here, there))
    assert rewriter.exact(ValueKind.DATABASE, "x") == "x"
    assert rewriter.exact(ValueKind.DATABASE, "c") == "c"
    back = Rewriter(Translation(there, here))
    assert back.exact(ValueKind.DATABASE, "1") == "1"
    assert [stop.why for stop in (*rewriter.stops, *back.stops)] == [
        "is databases.a, but the way back leads elsewhere",
        "is databases.c, for which the other site has no value",
        "is databases.a, but the way back leads elsewhere",
    ]


def test_another_port_is_another_server() -> None:
    rewriter = Rewriter(THERE)
    for url in ("http://stand:80801/", "http://stand:8080.evil/"):
        assert rewriter.prose(url) == url
    assert len(rewriter.stops) == 2


@given(st.text(alphabet="stan.dumi^(|)\\/[]b", max_size=30))
def test_a_regex_went_there_and_back_or_stopped(pattern: str) -> None:
    found = THERE.regex(pattern)
    if found is not None:
        assert BACK.regex(found) == pattern


@given(names, policies, texts, texts, anything)
def test_what_went_to_the_other_site_and_back_is_as_it_was(
    database: str, policy: str, measurement: str, value: str, field: str
) -> None:
    def quoted(mark: str, text: str) -> str:
        text = text.replace("\\", "\\\\").replace(mark, "\\" + mark)
        return mark + text.replace("\n", "\\n") + mark

    place = [quoted('"', name) for name in (database, policy, measurement)]
    query = " ".join(
        [
            *("SELECT", quoted('"', field), "FROM", ".".join(place)),
            *("WHERE", "a", "=", quoted("'", value)),
        ]
    )
    there = Rewriter(THERE)
    sent = rewrite_influxql(query, there)
    back = Rewriter(BACK)
    returned = rewrite_influxql(sent, back)
    if not there.stops:
        assert not back.stops
        assert returned == query
        assert quoted('"', field) in sent


@given(st.text(), st.sampled_from(["influxql", "flux", "tick"]))
def test_no_character_is_lost_between_tokens(text: str, language: str) -> None:
    assert join(tokenize(text, language)) == text


@given(st.text(alphabet="abEFROM\"'\\./,() :$ln-\n"))
def test_a_text_without_known_names_is_left_as_it_is(text: str) -> None:
    assert rewrite_influxql(text, Rewriter(THERE)) == text
    assert rewrite_flux(text, Rewriter(THERE)) == text


OTHER_SITE = Translation(
    {
        ValueKind.DATABASE: {"efd": "efd_stand", "agent": "mirror"},
        ValueKind.HANDLER: {"us": "#us", "mail": "stand@x"},
    },
    {
        ValueKind.DATABASE: {"efd": "efd", "agent": "mirror_summit"},
        ValueKind.HANDLER: {"us": "#them", "mail": "summit@x"},
    },
)


def leftovers(text: str) -> list[str]:
    return list(find_leftovers(text, OTHER_SITE, ["kafka.stand", "s"]))


def test_values_of_the_one_site_are_found_as_whole_words() -> None:
    assert leftovers("efd_stand is late, ask stand@x at kafka.stand:1") == [
        "efd_stand",
        "stand@x",
        "kafka.stand",
    ]
    assert leftovers("my_efd_stand, efd_stands, #us, mirror, s, efd") == []


TARGET_SITE = Translation(
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
    rewriter = Rewriter(TARGET_SITE)
    sent = rewrite_chronograf(chronograf(query, "it", old), rewriter)
    assert rewriter.stops == []
    assert [v["value"] for v in sent["templates"][0]["values"]] == [new]


def test_a_database_that_a_variable_offers_and_the_map_lacks_stops() -> None:
    rewriter = Rewriter(TARGET_SITE)
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
    rewriter = Rewriter(TARGET_SITE)
    sent = rewrite_grafana(board, rewriter)
    assert rewriter.stops == []
    (variable,) = sent["templating"]["list"]
    assert variable["query"] == "EFD : efd"
    assert variable["current"] == {"text": "EFD", "value": "efd"}
    assert variable["options"] == [option | {"text": "efd", "value": "efd"}]
    assert list(variable) == list(board["templating"]["list"][0])


def test_grafana_stops_at_a_database_that_only_a_variable_names() -> None:
    rewriter = Rewriter(TARGET_SITE)
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
    rewriter = Rewriter(TARGET_SITE)
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
    rewriter = Rewriter(TARGET_SITE)
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
    rewriter = Rewriter(TARGET_SITE)
    (panel,) = rewrite_grafana(board, rewriter)["panels"]
    assert rewriter.stops == []
    assert panel["targets"][0]["measurement"] == r"/^summit\.d/"
    assert [
        override["matcher"]["options"]
        for override in panel["fieldConfig"]["overrides"]
    ] == ["summit.a", "/^summit./"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (".token('abc')", f".token('{HIDDEN}')"),
        (".routingKey('a\\'b')", f".routingKey('{HIDDEN}')"),
        ("var api_token = 'abc'", f"var api_token = '{HIDDEN}'"),
        ('  "service-key": "abc",', f'  "service-key": "{HIDDEN}",'),
        (
            ".header('Authorization', 'abc')",
            f".header('Authorization', '{HIDDEN}')",
        ),
        ("http://u:abc@host/x", f"http://u:{HIDDEN}@host/x"),
        (
            ".post('https://hooks.slack.com/services/T0/B0/abc')",
            f".post('https://hooks.slack.com/services/{HIDDEN}')",
        ),
        ("x = 'xoxb-12345-abc'", f"x = 'xoxb-{HIDDEN}'"),
        ("'Bearer abcdefghij'", f"'Bearer {HIDDEN}'"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert hide(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "var db = 'efd'",
        ".channel('#alerts')",
        "http://host:8080/page",
        ".token('')",
        "Kafka's key is null: 'x'",
        "SELECT keys FROM x",
    ],
)
def test_what_does_not_is_shown(text: str) -> None:
    assert hide(text) == text


def test_a_known_secret_is_hidden_wherever_it_is() -> None:
    assert hide("a hunter2 b", ["hunter2", ""]) == f"a {HIDDEN} b"
