"""Rights on many topics are asked for at once."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.doctor.findings import Findings
from mirrorwatch.doctor.rights import add_lacking_on_many, find_lacking_on_many
from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceUnavailableError,
)

pytestmark = pytest.mark.slow


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


def test_rights_on_many_topics_are_found_by_one_request() -> None:
    cluster: Any = OneCluster(
        {
            "all": {"READ", "DESCRIBE", "DESCRIBE_CONFIGS"},
            "read": {"READ", "DESCRIBE"},
            "seen": {"DESCRIBE", "DESCRIBE_CONFIGS"},
            "hidden": denied(),
            "unsaid": None,
        }
    )
    names = list(cluster.allowed)
    assert find_lacking_on_many(
        cluster, names, ["READ", "DESCRIBE_CONFIGS"]
    ) == {"READ": ["hidden", "seen"], "DESCRIBE_CONFIGS": ["read"]}
    found = find_lacking_on_many(cluster, names, ["DESCRIBE"])
    assert found == {"DESCRIBE": ["hidden"]}
    assert cluster.asked == 2
    assert find_lacking_on_many(cluster, [], ["READ"]) == {"READ": []}
    assert cluster.asked == 2


def test_a_cluster_that_does_not_answer_is_no_right() -> None:
    error = SourceUnavailableError("No broker", source="k", cluster="c")
    cluster: Any = OneCluster({"t": error})
    with pytest.raises(SourceUnavailableError):
        find_lacking_on_many(cluster, ["t"], ["READ"])


def test_a_right_that_many_topics_lack_is_one_finding() -> None:
    cluster: Any = OneCluster({})
    findings = Findings("flow")
    add_lacking_on_many(findings, cluster, [], "READ", "audit")
    assert findings.all == []
    add_lacking_on_many(
        findings, cluster, ["a", "b", "c"], "DESCRIBE_CONFIGS", "configs"
    )
    (one,) = findings.all
    assert one.cause == (
        "mirrorwatch lacks DESCRIBE_CONFIGS on topic a and 2 other topics at "
        "summit: the check configs is unknown without it"
    )
    assert "--topic a --operation DescribeConfigs" in one.remedy
