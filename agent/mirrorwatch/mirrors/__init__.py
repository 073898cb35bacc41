"""Mirrors: for each, one file of its internal topics and one of its JMX."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..domain.mirror_kinds import KINDS
from ..ports import Mirror, MirrorJmx, MirrorSettings
from .group import GroupMirror
from .linked import LinkedMirror
from .mirrormaker2 import MirrorMaker2
from .mirrormaker2_jmx import MirrorMaker2Jmx
from .mirus import Mirus
from .replicator import Replicator
from .ureplicator import UReplicatorMirror

__all__ = ["MIRRORS", "MirrorAdapter"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorAdapter:
    """How one kind of mirror is read."""

    topics: Callable[[MirrorSettings], Mirror]
    """Makes what reads its internal topics."""

    jmx: Callable[[MirrorSettings], MirrorJmx] | None = None
    """Makes what reads its JMX metrics; `None` if nothing does."""


MIRRORS: Mapping[str, MirrorAdapter] = {
    "mirrormaker2": MirrorAdapter(
        topics=MirrorMaker2.of, jmx=MirrorMaker2Jmx.of
    ),
    "mirus": MirrorAdapter(topics=Mirus),
    "replicator": MirrorAdapter(topics=Replicator),
    **{
        kind: MirrorAdapter(topics=GroupMirror)
        for kind, traits in KINDS.items()
        if traits.in_group
    },
    **{
        kind: MirrorAdapter(topics=LinkedMirror)
        for kind, traits in KINDS.items()
        # Neither says where it is.
        if traits.keeps_offsets or traits.matches_records
    },
    "ureplicator": MirrorAdapter(topics=UReplicatorMirror),
}
"""By ``mirror.kind`` of the configuration."""
