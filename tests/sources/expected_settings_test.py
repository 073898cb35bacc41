"""Connectors that are configured otherwise than mirrorwatch was told."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.domain.topics import FormatNaming, Naming, Selection
from mirrorwatch.sources.expected_settings import ExpectedSettings
from mirrorwatch.sources.mirror_state import MirrorState
from tests.support.surveys import an_unseen_view

PLAIN = FormatNaming(format="${topic}")
PREFIXED = FormatNaming(format="a.${topic}")

VIEW = an_unseen_view("f", {})


def found(
    naming: Naming,
    group: str | None,
    *,
    renames: str | None = "${topic}",
    obeys_group: str | None = None,
    keeps_partitions: bool | None = None,
    expected: bool = False,
) -> tuple[str, ...]:
    positions = MirrorState()
    checked = ExpectedSettings(
        positions, naming, group, keeps_partitions=expected
    )
    checked.take(VIEW)
    assert positions.problems() == ()
    positions.note(
        Connector(
            name="c",
            selection=Selection(),
            refresh=timedelta(minutes=1),
            max_in_flight=1,
            renames=renames,
            obeys_group=obeys_group,
            keeps_partitions=keeps_partitions,
        )
    )
    checked.take(VIEW)
    return positions.problems()


@pytest.mark.parametrize(
    ("naming", "group", "renames", "obeyed"),
    [
        (PLAIN, None, "${topic}", None),
        (PREFIXED, None, "a.${topic}", None),
        (PREFIXED, None, None, None),
        (PLAIN, "g", "${topic}", "g"),
    ],
)
def test_what_agrees_is_no_problem(
    naming: Naming, group: str | None, renames: str | None, obeyed: str | None
) -> None:
    assert found(naming, group, renames=renames, obeys_group=obeyed) == ()


@pytest.mark.parametrize(
    ("naming", "group", "renames", "obeyed", "said"),
    [
        (PLAIN, None, "a.${topic}", None, "format a.${topic}"),
        (PREFIXED, None, "${topic}", None, "naming says a.${topic}"),
        (PLAIN, None, "${topic}", "g", "Set mirror.group to g"),
        (PLAIN, "other", "${topic}", "g", "Set mirror.group to g"),
        (PLAIN, "g", "${topic}", None, "Remove mirror.group"),
    ],
)
def test_what_does_not_is_told_with_the_remedy(
    naming: Naming,
    group: str | None,
    renames: str,
    obeyed: str | None,
    said: str,
) -> None:
    (problem,) = found(naming, group, renames=renames, obeys_group=obeyed)
    assert said in problem


@pytest.mark.parametrize("keeps", [True, False, None])
@pytest.mark.parametrize("expected", [True, False])
def test_partitions_that_are_not_kept_are_told(
    keeps: bool | None, expected: bool
) -> None:
    """Kept ones that nobody expects are compared by topic: it is no harm."""
    problems = found(PLAIN, None, keeps_partitions=keeps, expected=expected)
    assert len(problems) == (expected and keeps is False)
    assert all("Set mirror.keeps_partitions to false" in p for p in problems)
