import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.topics import (
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
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
