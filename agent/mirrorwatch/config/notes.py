"""What is allowed in a configuration, and yet worth saying."""

from collections.abc import Iterator
from ipaddress import ip_address

from .base import Model, YamlPath, format_path
from .flows import FlowConfig
from .kafka import KafkaProperties
from .root import Config
from .rules import find_undecided

__all__ = ["find_notes"]


def find_notes(config: Config) -> list[str]:
    """Return remarks, one sentence each."""
    notes = [
        f"{format_path(path)} is written in the file: "
        "${env:NAME} or ${file:/path} would keep it out"
        for path in _find_plain_secrets(config, ())
    ]
    if not _is_loopback(config.web.host):
        notes.append(
            "web.listen: other machines can reach the page, which has no login"
        )
    for index, flow in enumerate(config.flows):
        notes += [f"flows[{index}].{n}" for n in _note_flow(flow)]
    return [*notes, *find_undecided(config.flows)]


def _note_flow(flow: FlowConfig) -> Iterator[str]:
    canary, mirror = flow.canary, flow.mirror
    if canary.enabled and not flow.selection.matches(canary.topic):
        yield (
            "canary.topic is none of the flow's topics: see that the "
            "mirror's own filter carries it"
        )
    if not canary.enabled:
        yield "canary is off: nothing proves that records arrive"
    if (
        mirror.mode == "connect"
        and mirror.topics.offsets is None
        and mirror.connect is None
    ):
        yield (
            "mirror has neither topics.offsets nor connect.url: the "
            "position is known from offset-syncs only"
        )


def _find_plain_secrets(value: object, path: YamlPath) -> Iterator[YamlPath]:
    """Yield the paths of secrets that stand in the file itself."""
    if isinstance(value, KafkaProperties):
        yield from ((*path, key) for key in value.plain_secrets)
    elif isinstance(value, Model):
        for name in value.plain_secrets:
            yield (*path, name)
        for name in type(value).model_fields:
            yield from _find_plain_secrets(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _find_plain_secrets(item, (*path, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _find_plain_secrets(item, (*path, index))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
