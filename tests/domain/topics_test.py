import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.topics import (
    MM2_EXCLUDED,
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
    PatternError,
    Selection,
    compile_pattern,
    split_patterns,
)

NAMES = st.text("ab._-heartbs", min_size=1, max_size=30)
TOPICS = NAMES | NAMES.map(lambda name: f"{name}heartbeats")
PARTS = st.text("ab._-", max_size=5)
NAMINGS: st.SearchStrategy[Naming] = st.one_of(
    st.builds(DefaultNaming, alias=PARTS, separator=PARTS),
    st.builds(IdentityNaming, alias=PARTS, separator=PARTS),
    st.builds(
        lambda before, after: FormatNaming(
            format=f"{before}${{topic}}{after}"
        ),
        PARTS,
        PARTS,
    ),
)


@given(NAMINGS, TOPICS)
def test_the_origin_of_a_remote_name_is_the_topic(
    naming: Naming, topic: str
) -> None:
    assert naming.origin(naming.remote(topic)) == topic


@given(NAMINGS, TOPICS)
def test_a_name_with_an_origin_is_the_remote_name_of_it(
    naming: Naming, remote: str
) -> None:
    origin = naming.origin(remote)
    assert origin is None or naming.remote(origin) == remote


@given(NAMINGS, TOPICS)
def test_names_are_kept_only_where_a_policy_says_so(
    naming: Naming, topic: str
) -> None:
    if naming.keeps_names and not topic.endswith("heartbeats"):
        assert naming.remote(topic) == topic
    if not naming.keeps_names:
        assert naming.remote(topic) != topic


def test_the_default_policy_prefixes_the_alias() -> None:
    naming = DefaultNaming(alias="summit")
    assert naming.remote("lsst.sal.x") == "summit.lsst.sal.x"
    assert naming.origin("base.lsst.sal.x") is None
    assert naming.origin("summit.") is None


def test_an_alias_may_hold_the_separator() -> None:
    naming = DefaultNaming(alias="a.b")
    assert naming.origin("a.b.topic") == "topic"


def test_the_identity_policy_prefixes_heartbeats_all_the_same() -> None:
    naming = IdentityNaming(alias="summit", separator="_")
    assert naming.remote("orders") == "orders"
    assert naming.remote("heartbeats") == "summit_heartbeats"
    assert naming.remote("my-heartbeats") == "summit_my-heartbeats"
    assert naming.origin("summit_heartbeats") == "heartbeats"
    assert naming.origin("base_heartbeats") is None


@pytest.mark.parametrize(
    "text", ["summit", "summit.${Topic}", "${topic}${topic}"]
)
def test_a_format_holds_the_topic_once(text: str) -> None:
    with pytest.raises(ValueError, match="exactly once"):
        FormatNaming(format=text)


def test_a_format_may_add_on_both_sides() -> None:
    naming = FormatNaming(format="summit.${topic}.v1")
    assert naming.remote("a") == "summit.a.v1"
    assert naming.origin("summit.a.v1") == "a"
    assert naming.origin("summit.v1") is None
    assert naming.origin("base.a.v1") is None


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
    "pattern",
    [
        *("[.]", r"[\[]", "[]a]", "[^]a]", r"\[a[b]"),
        *("a{1,2}", "(?i)a", r"(\*)+"),
    ],
)
def test_what_they_share_is_not(pattern: str) -> None:
    compile_pattern(pattern)


def test_classes_of_characters_are_ascii_as_in_java() -> None:
    assert compile_pattern(r"\w+").fullmatch("abc_1")
    assert not compile_pattern(r"\w+").fullmatch("é")
    assert not compile_pattern(r"\d").fullmatch("٣")


@pytest.mark.parametrize(
    "pattern", ["([a-z.]+)+X", "(?:a*)*", "(a+?){2,}", r"(?:(a+)\1*)+x"]
)
def test_a_pattern_that_may_run_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="nested repeats"):
        compile_pattern(pattern)
