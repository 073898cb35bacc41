"""Values of the Helm chart for a drafted configuration."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from ..config import Config
from ..domain.acls import to_strimzi_acls
from ..wiring.context import find_rights
from .model import Draft, SecretFile

__all__ = ["FILES", "find_missing", "find_users", "to_values"]

FILES = "mirrorwatch-files"
"""Name of the Secret with the files that no other Secret has."""


def to_values(draft: Draft, config: Config, text: str, folder: str) -> str:
    """Return values of the chart.

    Parameters
    ----------
    draft, config
        The draft, as it was made and as it is loaded.
    text
        The configuration, as YAML.
    folder
        Folder of secrets in the pod.
    """
    secrets: dict[str, list[dict[str, str]]] = {}
    missing = find_missing(draft)
    for file in draft.secrets.values():
        name, key = FILES, file.name
        if file not in missing:
            _, name, key = file.keys[0]
        secrets.setdefault(name, []).append({"key": key, "path": file.name})
    values: dict[str, Any] = {
        "secrets": {
            "path": folder,
            "from": [{"name": n, "items": i} for n, i in secrets.items()],
        }
    }
    users = [*find_users(draft, config)]
    if users:
        values["kafka"] = {"users": users}
    rest = yaml.safe_dump(values, sort_keys=False, width=10**9)
    return f"config:\n{textwrap.indent(text, '  ')}\n{rest}"


def find_missing(draft: Draft) -> Sequence[SecretFile]:
    """Return the files that are not one key of a Secret in the namespace."""
    return [
        file
        for file in draft.secrets.values()
        if len(file.keys) != 1 or file.keys[0].namespace != draft.namespace
    ]


def find_users(draft: Draft, config: Config) -> Iterator[dict[str, Any]]:
    """Yield the `KafkaUser` resources of the namespace that do not exist yet,
    as values of the chart.
    """
    rights = find_rights(config)
    for alias, cluster in draft.clusters.items():
        kafka = config.clusters[alias].kafka
        name = kafka.get("sasl.username")
        tls = "ssl.certificate.location" in kafka
        here = cluster.kafka and cluster.namespace == draft.namespace
        if not here or cluster.has_user or not (name or tls):
            continue
        yield {
            "name": cluster.user,
            "cluster": cluster.kafka,
            "authentication": {"type": "scram-sha-512" if name else "tls"},
            "acls": to_strimzi_acls(rights[alias]),
        }
