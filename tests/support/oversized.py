"""Records that the target does not take, alone in their batch and among
others.

The mirror must not copy configurations: it would put back the limit that is
lowered here (`lab.mirror.start(UNSYNCED)`).
"""

from mirrorwatch_lab import Lab
from tests.support.lab import produce

__all__ = ["LIMIT", "UNSYNCED", "lower_limit", "produce_alone"]
__all__ += ["produce_among_others"]

LIMIT = 2000
"""Bytes that the target takes at once, from here on."""

UNSYNCED = {"summit->ldf.sync.topic.configs.enabled": "false"}
"""Properties of a mirror that leaves configurations of topics alone."""

SMALL = "s" * 100
LARGE = "L" * (2 * LIMIT)


def lower_limit(lab: Lab, topic: str, limit: int = LIMIT) -> None:
    """Let the target take small records of a topic only."""
    name = lab.target_name(topic)
    lab.target.topics.set_configs(name, {"max.message.bytes": str(limit)})


def produce_alone(lab: Lab, topic: str, partition: int = 0) -> int:
    """Write one that is too large, and nothing else; return its offset.

    The mirror's task fails of it.
    """
    before = lab.source.topics.ends(topic)[partition][1]
    produce(lab, topic, [LARGE], partition=partition)
    return before


def produce_among_others(lab: Lab, topic: str, partition: int = 0) -> int:
    """Write one that is too large among small ones; return its offset.

    They are written while the mirror is frozen, so that it takes them at once
    and into one batch. The producer of Kafka 3.9 splits that into itself for
    ever: the task stays RUNNING and copies nothing of the partition. Newer
    ones split it in halves, and the task fails of the record in the end.
    """
    lab.mirror.freeze()
    before = lab.source.topics.ends(topic)[partition][1]
    produce(
        lab,
        topic,
        [*[SMALL] * 20, LARGE, *[SMALL] * 20],
        partition=partition,
    )
    lab.mirror.thaw()
    return before + 20
