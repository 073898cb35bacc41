"""How a source topic is called on the target: the mirror's naming policy."""

from dataclasses import dataclass

__all__ = ["TOPIC_PLACEHOLDER", "DefaultNaming", "FormatNaming"]
__all__ += ["IdentityNaming", "Naming"]

HEARTBEATS = "heartbeats"
"""End of the names that MirrorMaker 2's identity policy prefixes after all."""

TOPIC_PLACEHOLDER = "${topic}"
"""Stands for the source topic in a naming format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DefaultNaming:
    """Names are prefixed: alias, separator, topic.

    Notes
    -----
    MirrorMaker 2 takes everything before the first separator for the alias,
    so it misreads names of an alias that contains the separator. Here the
    alias is known, so names are read back exactly.
    """

    alias: str
    """The mirror's alias of the source; may be empty."""

    separator: str = "."
    """What stands between alias and topic; may be empty."""

    @property
    def prefix(self) -> str:
        """What every target name starts with."""
        return f"{self.alias}{self.separator}"

    @property
    def keeps_names(self) -> bool:
        """Whether a topic has the same name on both sides."""
        return not self.prefix

    def remote(self, topic: str) -> str:
        """Return the name on the target of a source topic."""
        return f"{self.prefix}{topic}"

    def origin(self, remote: str) -> str | None:
        """Return the source topic behind a target name, if it is one."""
        if not remote.startswith(self.prefix):
            return None
        return remote.removeprefix(self.prefix) or None


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityNaming:
    """Names are kept, but for heartbeats.

    Notes
    -----
    ``IdentityReplicationPolicy`` names every topic that *ends* in
    ``heartbeats`` as the default policy would, so that heartbeats of several
    sources stay apart. This goes for a user's ``my-heartbeats`` too.
    """

    alias: str
    """The mirror's alias of the source; may be empty."""

    separator: str = "."
    """What stands between alias and a heartbeats topic; may be empty."""

    @property
    def prefix(self) -> str:
        """What every target name starts with."""
        return ""

    @property
    def keeps_names(self) -> bool:
        """Whether a topic has the same name on both sides."""
        return True

    def remote(self, topic: str) -> str:
        """Return the name on the target of a source topic."""
        if topic.endswith(HEARTBEATS):
            return self._prefixed.remote(topic)
        return topic

    def origin(self, remote: str) -> str | None:
        """Return the source topic behind a target name, if it is one."""
        if remote.endswith(HEARTBEATS):
            topic = self._prefixed.origin(remote)
            # "summit.xheartbeats" of alias "summit.x" would leave "".
            return topic if topic and topic.endswith(HEARTBEATS) else None
        return remote or None

    @property
    def _prefixed(self) -> DefaultNaming:
        return DefaultNaming(alias=self.alias, separator=self.separator)


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatNaming:
    """Names follow a format that holds ``${topic}`` once."""

    format: str
    """For example ``summit.${topic}``."""

    def __post_init__(self) -> None:
        if self.format.count(TOPIC_PLACEHOLDER) != 1:
            raise ValueError(
                f"A naming format holds {TOPIC_PLACEHOLDER} exactly once"
            )

    @property
    def prefix(self) -> str:
        """What every target name starts with."""
        return self.format.split(TOPIC_PLACEHOLDER)[0]

    @property
    def suffix(self) -> str:
        """What every target name ends with."""
        return self.format.split(TOPIC_PLACEHOLDER)[1]

    @property
    def keeps_names(self) -> bool:
        """Whether a topic has the same name on both sides."""
        return self.format == TOPIC_PLACEHOLDER

    def remote(self, topic: str) -> str:
        """Return the name on the target of a source topic."""
        return f"{self.prefix}{topic}{self.suffix}"

    def origin(self, remote: str) -> str | None:
        """Return the source topic behind a target name, if it is one."""
        prefix, suffix = self.prefix, self.suffix
        if len(remote) <= len(prefix) + len(suffix):
            return None
        if not (remote.startswith(prefix) and remote.endswith(suffix)):
            return None
        return remote.removeprefix(prefix).removesuffix(suffix)


Naming = DefaultNaming | IdentityNaming | FormatNaming
"""Any naming policy: ``remote(topic)`` and ``origin(remote)``."""
