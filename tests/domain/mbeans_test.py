from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.bottleneck.model import MBeanQuery, parse_name

WANTED = MBeanQuery(
    domain="kafka.consumer",
    type="fetches",
    keys={"client-id": '"*|replication-consumer"', "topic": "*"},
    numbers=("rate", "age"),
    texts=("status",),
)


def test_names_are_read_in_any_order_and_without_quotes() -> None:
    name = 'd.e:client-id="a->b|c,d=\\"x\\"",type=t,topic=a.b'
    expected = {"client-id": 'a->b|c,d="x"', "type": "t", "topic": "a.b"}
    assert parse_name(name) == ("d.e", expected)
    assert parse_name("d:source=,type=t")[1] == {"source": "", "type": "t"}


@given(st.text(min_size=1))
def test_any_quoted_value_is_read_back(value: str) -> None:
    quoted = value
    for char in '\\"*?':
        quoted = quoted.replace(char, f"\\{char}")
    quoted = quoted.replace("\n", "\\n")
    _, properties = parse_name(f'd:a="{quoted}",b=c')
    assert properties == {"a": value, "b": "c"}


def test_a_pattern_names_every_property() -> None:
    assert WANTED.pattern == (
        'kafka.consumer:type=fetches,client-id="*|replication-consumer",topic=*'
    )
    assert WANTED.covers(
        {"client-id": "a->b|c-0|replication-consumer", "topic": "t"}
    )
    assert not WANTED.covers({"client-id": "x", "topic": "t"})
    assert not WANTED.covers({"client-id": "a|replication-consumer"})


@pytest.mark.parametrize("nothing", [nan, inf, -inf, None, "NaN", "ERROR: x"])
def test_what_is_no_number_is_absent_and_not_zero(nothing: object) -> None:
    assert WANTED.take({"rate": nothing, "age": 0}) == {"age": 0.0}


def test_nothing_is_taken_that_was_not_wanted() -> None:
    found = {"rate": 1, "status": "running", "secret": "x", "age": "old"}
    assert WANTED.take(found) == {"rate": 1.0, "status": "running"}
