"""LinkedIn Brooklin: its connector is a consumer group.

With enablePartitionAssignment it assigns partitions to itself, and its group
has no members.
"""

from dataclasses import replace

from ..mirror_traits import of_group

__all__ = ["PRESET"]

PRESET = replace(
    of_group("Brooklin"),
    # It sets none, and turns records without a value into empty ones.
    keeps_timestamps=False,
    keeps_tombstones=False,
    starts_at_end=False,
    # It only looks for new partitions there.
    helper_groups="-topic-partition-listener",
)
