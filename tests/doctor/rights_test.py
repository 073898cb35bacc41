"""Rights on many topics are asked for at once."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.doctor.findings import Findings
from mirrorwatch.doctor.rights import add_unread, find_unread
from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceUnavailableError,
)


class OneCluster:
    """Says of each topic what may be done with it; raises what it is given."""

    alias = "summit"

    def __init__(self, allowed: dict[str, Any]) -> None:
        self.allowed = allowed
        self.asked = 0

    def call(self, question: Callable[[Any], Any], _: str) -> Any:
        def describe_topics(_: object, **options: Any) -> dict[str, Any]:
            assert options["include_authorized_operations"]
            self.asked += 1
            return self.allowed

        return question(SimpleNamespace(describe_topics=describe_topics))

    def wait(self, future: Any, _: str) -> Any:
        if isinstance(future, Exception):
            raise future
        operations = [SimpleNamespace(name=name) for name in future or ()]
        return SimpleNamespace(authorized_operations=operations or None)


def denied() -> SourceDeniedError:
    return SourceDeniedError("no", source="k", cluster="c", right="READ")


def test_topics_that_may_not_be_read_are_found_by_one_request() -> None:
    cluster: Any = OneCluster(
        {
            "read": {"READ", "DESCRIBE"},
            "seen": {"DESCRIBE"},
            "hidden": denied(),
            "unsaid": None,
        }
    )
    assert find_unread(cluster, cluster.allowed) == ["hidden", "seen"]
    assert cluster.asked == 1
    assert find_unread(cluster, []) == []
    assert cluster.asked == 1


def test_a_cluster_that_does_not_answer_is_no_right() -> None:
    error = SourceUnavailableError("No broker", source="k", cluster="c")
    with pytest.raises(SourceUnavailableError):
        find_unread(OneCluster({"t": error}), ["t"])  # type: ignore[arg-type]


def test_many_unread_topics_are_one_finding() -> None:
    cluster: Any = OneCluster({})
    findings = Findings("flow")
    add_unread(findings, cluster, [], "why")
    assert findings.all == []
    add_unread(findings, cluster, ["a", "b", "c"], "why")
    (one,) = findings.all
    assert one.cause == (
        "mirrorwatch lacks READ on topic a and 2 other topics at summit: why"
    )
