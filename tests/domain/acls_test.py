"""Tests of the rights that a configuration needs."""

import pytest

from mirrorwatch.domain.acls import topic_rights
from mirrorwatch.domain.topics import (
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Naming,
)


@pytest.mark.parametrize(
    ("naming", "include", "wanted"),
    [
        (
            FormatNaming(format="summit.${topic}.copy"),
            "sal[.].*",
            "summit.sal.",
        ),
        (FormatNaming(format="summit.${topic}.copy"), "a", "summit.a.copy"),
        (DefaultNaming(alias="summit"), "sal[.].*", "summit.sal."),
        (IdentityNaming(alias="summit"), "my-heartbeats.*", "my-heartbeats"),
        (IdentityNaming(alias="summit"), "heartbeats", "summit.heartbeats"),
    ],
)
def test_rights_at_the_target_cover_the_names_that_topics_get(
    naming: Naming, include: str, wanted: str
) -> None:
    (there,) = {
        (right.topic, right.prefixed)
        for right in topic_rights([include], naming.remote)
        if right.side == "target" and right.kind == "topic"
    }
    assert there == (wanted, include.endswith("*"))
