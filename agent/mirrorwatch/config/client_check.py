"""Lets librdkafka itself check its properties, without connecting."""

import re
from collections.abc import Mapping
from dataclasses import replace
from logging import NullHandler, getLogger

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ..secrets import HIDDEN
from .base import ConfigProblem
from .kafka import SERVERS, KafkaProperties
from .loading import Document
from .root import Config

__all__ = ["check_clients", "find_client_faults"]

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
            # The rest can only be checked once this is mended.
            return problems


def _try(properties: Mapping[str, str]) -> str | None:
    logger = getLogger("mirrorwatch.client_check")
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
