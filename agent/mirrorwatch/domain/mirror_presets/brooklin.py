"""LinkedIn Brooklin: its connector is a consumer group."""

from ..mirror_traits import of_group

__all__ = ["PRESET"]

PRESET = of_group(
    "Brooklin",
    # With enablePartitionAssignment it assigns partitions to itself.
    always_members=False,
    keeps_partitions=False,
    # It sets none, and turns records without a value into empty ones.
    keeps_timestamps=False,
    keeps_tombstones=False,
    starts_at_end=False,
    # It only looks for new partitions there.
    helper_groups="-topic-partition-listener",
)
