"""What is not written to the topics of a mirror that copies otherwise."""

from typing import Any

import pytest

from mirrorwatch.audit.repair import Repairer
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.repair import RepairDiary, RepairRange

RANGE = RepairRange(flow="a->b", topic="x", partition=0, first=3, last=4)


def config(**mirror: Any) -> Config:
    # Nobody listens there: what is refused is refused before.
    cluster = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    return Config.from_mapping(
        {
            "clusters": {"a": cluster, "b": cluster},
            "flows": [{"source": "a", "target": "b", "mirror": mirror}],
        }
    )


@pytest.mark.parametrize(
    ("mirror", "why"),
    [
        ({"kind": "linked"}, "keeps offsets"),
        ({"kind": "mirrormaker1", "group": "mm"}, "does not keep partitions"),
    ],
)
def test_the_target_itself_is_left_alone(
    mirror: dict[str, Any], why: str
) -> None:
    repairer = Repairer(
        config(**mirror),
        to_topic=None,
        diary=RepairDiary(),
        save=lambda _: pytest.fail("nothing was written"),
    )
    (found,) = repairer.repair([RANGE], dry_run=False)
    assert found.outcome == "refused"
    assert why in found.reason
