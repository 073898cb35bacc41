"""Redpanda Connect's migrator: its input is a consumer group."""

from dataclasses import replace

from ..mirror_traits import of_group

__all__ = ["PRESET"]

PRESET = replace(
    of_group("Redpanda Migrator"),
    always_members=True,
    keeps_partitions=True,
    added_headers=(
        "redpanda-migrator-offset",
        "redpanda-migrator-provenance",
    ),
)
