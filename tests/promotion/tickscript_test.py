"""Rules on their way to another site."""

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch_promotion.kapacitor import rewrite_handler, rewrite_task
from mirrorwatch_promotion.tickscript import TickScript
from mirrorwatch_promotion.values import Rewriter, Translation, ValueKind

STAND = {
    ValueKind.DATABASE: {"efd": "efd_stand"},
    ValueKind.RETENTION_POLICY: {"raw": "week"},
    ValueKind.TOPIC_PREFIX: {"site": "stand."},
    ValueKind.ENDPOINT: {"page": "http://stand:8080"},
    ValueKind.HANDLER: {"us": "#stand", "key": "k-1"},
}
SUMMIT = {
    ValueKind.DATABASE: {"efd": "efd"},
    ValueKind.RETENTION_POLICY: {"raw": "for o'clock"},
    ValueKind.TOPIC_PREFIX: {"site": "summit."},
    ValueKind.ENDPOINT: {"page": "https://mirror.summit"},
    ValueKind.HANDLER: {"us": "#summit", "key": "k-2"},
}
THERE = Translation(STAND, SUMMIT)

SCRIPT = r"""// stand. is a comment, 'efd_stand' too
dbrp "efd_stand"."week"

var db = 'efd_stand'
var rp = 'week'
var name = 'efd_stand'
var where = lambda: "topic" == 'stand.dome' AND "x" / 2.0 > 1.0
var outputDB = 'chronograf'
var to = ['#stand', '#stand']
var half = 6 / 2

stream
    |from()
        .database(db)
        .retentionPolicy(rp)
        .measurement('stand.dome')
        .groupBy(*)
        .where(where)
    |alert()
        .id(name + '/{{ .Group }}')
        .message('efd_stand is late: see http://stand:8080/x, it\'s there.')
        .topic('stand.' + name)
        .slack()
            .channel('#stand')
        .opsGenie2()
            .teams(to)
        .post('http://stand:8080/hook')
    |influxDBOut()
        .database(outputDB)
        .retentionPolicy('autogen')
"""

EXPECTED = (
    SCRIPT.replace('dbrp "efd_stand"."week"', 'dbrp "efd"."for o\'clock"')
    .replace("db = 'efd_stand'", "db = 'efd'")
    .replace("rp = 'week'", r"rp = 'for o\'clock'")
    .replace("'stand.", "'summit.")
    .replace("http://stand:8080", "https://mirror.summit")
    .replace("'#stand'", "'#summit'")
)


def test_a_script_names_the_other_site_and_comes_back_equal() -> None:
    there, back = Rewriter(THERE), Rewriter(THERE.inverse)
    sent = TickScript(SCRIPT).rewrite(there)
    assert there.stops == []
    assert sent == EXPECTED
    assert TickScript(sent).rewrite(back) == SCRIPT
    assert back.stops == []


def test_what_stops_a_script_is_named_with_its_line() -> None:
    script = (
        "var db = 'a' + 'b'\nstream|from().database(db)\n"
        "  .retentionPolicy('other')|alert().email('x@y').topic('summit.z')\n"
        "  .message('http://unknown/')\n"
        "batch|query('SELECT x FROM \"nope\"..m')\n"
    )
    rewriter = Rewriter(THERE)
    assert TickScript(script).rewrite(rewriter) == script
    assert [str(stop) for stop in rewriter.stops] == [
        (
            "line 1: database: database 'a' is one of several texts put "
            "together, not a whole name"
        ),
        (
            "line 1: database: database 'b' is one of several texts put "
            "together, not a whole name"
        ),
        (
            "line 3: retentionPolicy: retention policy 'other' is not in the "
            "map of both sites"
        ),
        "line 3: email: handler 'x@y' is not in the map of both sites",
        (
            "line 3: topic: topic prefix 'summit.z' begins as names of the "
            "other site do"
        ),
        (
            "line 4: message: endpoint 'http://unknown/' is not in the map of "
            "both sites"
        ),
        "line 5: query: database 'nope' is not in the map of both sites",
    ]


def test_a_variable_of_a_variable_is_read_as_it_is_used() -> None:
    script = "var a = 'efd_stand'\nvar b = a\nvar c = b\nx.database(c)"
    rewriter = Rewriter(THERE)
    sent = TickScript(script).rewrite(rewriter)
    assert sent == script.replace("efd_stand", "efd")


def test_what_is_told_to_people_as_well_is_what_it_is_used_for() -> None:
    script = "var a = 'efd_stand'\nx.database(a).message('of ' + a)"
    rewriter = Rewriter(THERE)
    sent = TickScript(script).rewrite(rewriter)
    assert sent == script.replace("efd_stand", "efd")


def test_a_text_that_is_used_for_two_things_stops() -> None:
    script = "var a = 'efd_stand'\nx.database(a).measurement(a)"
    rewriter = Rewriter(THERE)
    assert TickScript(script).rewrite(rewriter) == script
    (stop,) = rewriter.stops
    assert str(stop).startswith(
        "line 1: measurement, database: database 'efd_stand' is used for "
        "several things"
    )


def test_a_secret_that_stops_is_not_shown() -> None:
    rewriter = Rewriter(THERE)
    TickScript("var k = 'abc'\nx.routingKey(k)").rewrite(rewriter)
    (stop,) = rewriter.stops
    assert str(stop) == (
        "line 1: routingKey: handler (hidden) is not in the map of both sites"
    )


def test_the_variables_of_a_task_are_read_as_its_template_uses_them() -> None:
    task = {
        "template-script": (
            "var where_from string\nvar what string\nvar who list\n"
            "stream|from().database(where_from).measurement(what)"
            "|alert().slack().channel(who)"
        ),
        "vars": {
            "where_from": {"type": "string", "value": "efd_stand"},
            "what": {"type": "string", "value": "stand.dome"},
            "who": {
                "type": "list",
                "value": [{"type": "string", "value": "#stand"}],
            },
            "unused": {"type": "string", "value": "efd_stand"},
            "lambda": {"type": "lambda", "value": "\"t\" == 'stand.a'"},
            "n": {"type": "int", "value": 3},
        },
        "dbrps": [{"db": "efd_stand", "rp": "week"}],
    }
    there, back = Rewriter(THERE), Rewriter(THERE.inverse)
    sent = rewrite_task(task, there)
    assert {k: v["value"] for k, v in sent["vars"].items()} == {
        "where_from": "efd",
        "what": "summit.dome",
        "who": [{"type": "string", "value": "#summit"}],
        "unused": "efd_stand",
        "lambda": "\"t\" == 'summit.a'",
        "n": 3,
    }
    assert sent["dbrps"] == [{"db": "efd", "rp": "for o'clock"}]
    assert rewrite_task(sent, back) == task
    assert there.stops == back.stops == []


def test_a_handler_names_the_other_site() -> None:
    handler = {
        "topic": "stand.dome",
        "id": "tell",
        "kind": "pagerduty2",
        "match": "\"host\" == 'stand.a'",
        "options": {
            "routing-key": "k-1",
            "topics": ["stand.all"],
            "headers": {"X-Site": "http://stand:8080"},
            "url": "http://stand:8080/p",
            "timeout": 3,
        },
    }
    there, back = Rewriter(THERE), Rewriter(THERE.inverse)
    sent = rewrite_handler(handler, there)
    assert sent == {
        "topic": "summit.dome",
        "id": "tell",
        "kind": "pagerduty2",
        "match": "\"host\" == 'summit.a'",
        "options": {
            "routing-key": "k-2",
            "topics": ["summit.all"],
            "headers": {"X-Site": "https://mirror.summit"},
            "url": "https://mirror.summit/p",
            "timeout": 3,
        },
    }
    assert rewrite_handler(sent, back) == handler
    assert there.stops == back.stops == []


pieces = st.sampled_from(SCRIPT.replace("\n", " \n ").split(" "))


@given(st.lists(pieces).map(" ".join))
def test_what_went_there_and_back_is_as_it_was(script: str) -> None:
    there, back = Rewriter(THERE), Rewriter(THERE.inverse)
    sent = TickScript(script).rewrite(there)
    returned = TickScript(sent).rewrite(back)
    if not there.stops:
        assert returned == script


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["efd_stand", "week"]),
)
def test_a_text_that_names_nothing_is_left_alone(text: str, db: str) -> None:
    quoted = "'" + text.replace("\\", "").replace("'", r"\'") + "'"
    script = f"var a = {quoted}\nvar b = '{db}'\nstream|from().x(a).y(b)"
    rewriter = Rewriter(THERE)
    sent = TickScript(script).rewrite(rewriter)
    if not rewriter.stops and not text.startswith("stand."):
        assert sent == script
