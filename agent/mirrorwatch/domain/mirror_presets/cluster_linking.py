"""Confluent Cluster Linking: mirror topics have the offsets of the source."""

from ..mirror_traits import of_ends

__all__ = ["PRESET"]

PRESET = of_ends("Cluster Linking")
