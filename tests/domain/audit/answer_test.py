from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.audit.result import answer
from tests.support.audits import a_count, a_finding, a_result


def gap(topic: str, records: int | None = None) -> Unverifiable:
    return Unverifiable(
        flow="f", topic=topic, partition=0, reason="gone", records=records
    )


def test_a_clean_night_says_how_much_was_proved() -> None:
    result = a_result(topics=(a_count("a", 1_000_000), a_count("b", 1)))
    assert answer(result) == (
        "Clean: 1,000,001 records of 2 topics arrived once and unaltered"
    )
    assert answer(a_result(topics=(a_count("a", 0),))) == (
        "Clean: nothing was written"
    )


def test_losses_come_first_with_where_they_are() -> None:
    result = a_result(
        a_finding("extra", topic="b"),
        a_finding("dropped", topic="a", first=1, last=17),
        a_finding("duplicated", topic="a"),
    )
    assert answer(result) == (
        "17 records dropped, 1 doubled and 1 that nobody wrote at the source "
        "in a and b"
    )
    assert answer(a_result(a_finding())) == "1 record dropped in events"


def test_what_is_not_known_is_never_called_clean() -> None:
    assert answer(a_result(unverifiable=(gap("a", 5), gap("a")))) == (
        "Nothing wrong found, but could not verify a (at least 5 records)"
    )
    many = tuple(gap(name, 1) for name in "abc")
    assert answer(a_result(a_finding(), unverifiable=many)) == (
        "1 record dropped in events; could not verify 3 topics (3 records)"
    )
