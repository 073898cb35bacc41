"""What is only checked when somebody asks: `mirrorwatch check-config`.

librdkafka checks its own properties, without connecting; what is allowed and
yet worth a remark is noted.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from logging import NullHandler, getLogger

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ..domain.topics import Selection
from ..secrets import HIDDEN
from .base import ConfigProblem, Document, Model, YamlPath, format_path
from .kafka import SERVERS, KafkaProperties
from .overlap import UndecidedError, find_common_topic
from .root import Config, FlowConfig, find_undecided

__all__ = ["check_clients", "find_client_faults", "find_notes"]

NAMED = re.compile(r'property:? "(?P<name>[^"]+)"')
"""librdkafka's messages about one property name it."""

NOT_USED = (*SERVERS, "debug", "test.mock.num.brokers", "plugin.library.paths")
"""Left out: without servers the client connects to nothing; `debug` would
fill the screen; the others would start a server or load code."""


def check_clients(config: Config) -> None:
    """Check the Kafka properties of every cluster.

    Raises
    ------
    ConfigError
        Raised with all that librdkafka says against them.
    """
    problems = [
        replace(p, path=("clusters", alias, "kafka", *p.path))
        for alias, cluster in config.clusters.items()
        for p in find_client_faults(cluster.kafka)
    ]
    if problems:
        name = str(config.file or "configuration")
        raise Document(name=name, data=None).to_error(problems)


def find_client_faults(properties: KafkaProperties) -> list[ConfigProblem]:
    """Return what librdkafka says against the properties.

    A client is made and let go, so files with certificates and keys are
    read too. Nothing is connected to.
    """
    rest = {k: v for k, v in properties.items() if k not in NOT_USED}
    problems: list[ConfigProblem] = []
    while True:
        message = _try(rest)
        if message is None:
            return problems
        named = NAMED.search(message)
        # librdkafka may know a property by another name (linger.ms).
        found = named is not None and named["name"] in rest
        problems.append(
            ConfigProblem(
                (named["name"],) if named and found else (),
                _censor(message, properties),
                shows_value=False,
            )
        )
        if named is None or rest.pop(named["name"], None) is None:
            # The rest can only be checked once this is fixed.
            return problems


def _try(properties: Mapping[str, str]) -> str | None:
    logger = getLogger("mirrorwatch.librdkafka")
    logger.propagate = False
    logger.addHandler(NullHandler())
    try:
        AdminClient({**properties}, logger=logger)
    except KafkaException as e:
        message: str = e.args[0].str()
        # OpenSSL's own codes help nobody.
        return message.strip().split(": error:")[0]
    return None


def _censor(message: str, properties: KafkaProperties) -> str:
    for secret in properties.secrets:
        if secret:
            message = message.replace(secret, HIDDEN)
    return message


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
    for number, rule in enumerate(flow.filtered.rules):
        matching = Selection(include=(rule.pattern,))
        with suppress(UndecidedError):
            if find_common_topic((flow.selection, matching)) is None:
                yield (
                    f"topics.filtered[{number}] matches none of the flow's "
                    "topics"
                )
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
