"""MirrorMaker 1, in Kafka up to 3.9: it is a consumer group."""

from dataclasses import replace

from ..mirror_traits import of_group

__all__ = ["PRESET"]

PRESET = replace(of_group("MirrorMaker 1"), always_members=True)
