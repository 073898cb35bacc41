import pytest

from mirrorwatch.domain.topics import (
    MM2_EXCLUDED,
    PatternError,
    Selection,
    compile_pattern,
    split_patterns,
)


@pytest.mark.parametrize(
    ("topic", "carried"),
    [
        ("lsst.sal.ATDome", True),
        ("lsst.sal.", True),
        ("xlsst.sal.ATDome", False),
        ("lsst_sal_ATDome", False),
        ("lsst.sal.ATDome.private", False),
        ("orders", True),
        ("orders2", False),
        ("", False),
    ],
)
def test_a_pattern_matches_whole_names_and_exclusion_wins(
    topic: str,
    carried: bool,
) -> None:
    selection = Selection(
        include=("lsst[.]sal[.].*", "orders"), exclude=(".*private",)
    )
    assert selection.matches(topic) is carried


@pytest.mark.parametrize(
    "topic", ["mm2-offset-syncs.ldf.internal", "__consumer_offsets"]
)
def test_the_mirrors_own_exclusion_keeps_internal_topics_out(
    topic: str,
) -> None:
    assert not Selection(exclude=MM2_EXCLUDED).matches(topic)


def test_the_mirrors_lists_are_split_as_kafka_does() -> None:
    assert split_patterns(" a.* ,b , ,c,") == ("a.*", "b", "c")
    assert split_patterns("") == ()
    assert split_patterns("a{1,2}") == ("a{1", "2}")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", r"missing \), unterminated subpattern at position 0"),
        ("a[b", "unterminated character set at position 1"),
        ("a**", "multiple repeat at position 2"),
        (r"x\Qa.b\E", r"bad escape \\Q at position 1"),
        (r"\p{Alpha}", r"bad escape \\p at position 0"),
        ("(?<x>a)", "unknown extension .* at position 1"),
        ("a(?P<x>a)", r"\(\?P\.\.\.\) is unknown to Java at position 1"),
        ("[a-z&&[^b]]", "a set in a set differently at position 6"),
        ("[ab[cd]]", "a set in a set differently at position 3"),
        ("[a-c&&b]", "set operations"),
        ("a{99999999999}", "too large"),
    ],
)
def test_what_java_and_python_do_not_share_is_refused(
    pattern: str, message: str
) -> None:
    with pytest.raises(PatternError, match=message):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["[.]", r"[\[]", "[]a]", "[^]a]", r"\[a[b]", "a{1,2}", "(?i)a"]
)
def test_what_they_share_is_not(pattern: str) -> None:
    compile_pattern(pattern)


def test_classes_of_characters_are_ascii_as_in_java() -> None:
    assert compile_pattern(r"\w+").fullmatch("abc_1")
    assert not compile_pattern(r"\w+").fullmatch("é")
    assert not compile_pattern(r"\d").fullmatch("٣")
