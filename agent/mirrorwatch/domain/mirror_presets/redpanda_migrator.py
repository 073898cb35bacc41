"""Redpanda Connect's migrator: its input is a consumer group."""

from dataclasses import replace

from ..mirror_traits import FLUSHED, of_group

__all__ = ["PRESET"]

PRESET = replace(
    of_group("Redpanda Migrator"),
    always_members=True,
    keeps_partitions=True,
    settles=FLUSHED,
    added_headers=(
        "redpanda-migrator-offset",
        "redpanda-migrator-provenance",
    ),
    # It writes it as long as it migrates consumer groups, as by default.
    offset_header="redpanda-migrator-offset",
)
