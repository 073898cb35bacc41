"""Redpanda Connect's migrator: its input is a consumer group."""

from ..mirror_traits import of_group

__all__ = ["PRESET"]

PRESET = of_group(
    "Redpanda Migrator",
    always_members=True,
    keeps_partitions=True,
    added_headers=(
        "redpanda-migrator-offset",
        "redpanda-migrator-provenance",
    ),
    # It writes it as long as it migrates consumer groups, as by default.
    offset_header="redpanda-migrator-offset",
)
