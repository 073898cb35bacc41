"""What a newcomer has: the mirror's configuration and the agent's secrets."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from mirrorwatch.domain.acls import Right
from mirrorwatch_lab import Lab
from tests.support.rights import DENIED, RIGHTS, expect, site

__all__ = ["describe_strimzi", "find_properties", "put_secrets", "without"]


def describe_strimzi(lab: Lab, folder: Path) -> Path:
    """Write the resource that Strimzi would have for the lab's mirror."""
    clusters = {
        alias: {
            "alias": alias,
            "bootstrapServers": place.agent_bootstrap,
            "authentication": {
                "type": "scram-sha-512",
                "username": "mirror",
                "passwordSecret": {"secretName": "mm2", "password": alias},
            },
            "tls": {"trustedCertificates": [{"secretName": f"{alias}-ca"}]},
        }
        for alias, place in (("summit", lab.source), ("ldf", lab.target))
    }
    policy = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    internal = {
        f"{kind}StorageTopic": f"mm2-{name}.summit.internal"
        for kind, name in (
            ("config", "configs"),
            ("offset", "offsets"),
            ("status", "status"),
        )
    }
    resource = {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaMirrorMaker2",
        "metadata": {"name": "replicator", "namespace": "efd"},
        "spec": {
            "version": lab.settings.kafka,
            "target": {**clusters["ldf"], **internal, "groupId": "mm2"},
            "mirrors": [
                {
                    "source": clusters["summit"],
                    "sourceConnector": {
                        "config": {"replication.policy.class": policy}
                    },
                    "topicsPattern": ".*",
                }
            ],
        },
    }
    file = folder / "mm2.yaml"
    file.write_text(yaml.safe_dump(resource))
    return file


def find_properties(lab: Lab) -> Path:
    """Return the file that the lab's mirror was started with."""
    (file,) = lab.folder.rglob("mm2.properties")
    return file


def put_secrets(lab: Lab, folder: Path) -> None:
    """Put what `init` asks for into the folder of secrets."""
    folder.mkdir()
    for alias, place in (("summit", lab.source), ("ldf", lab.target)):
        security: Any = place.security
        shutil.copy(security.password_file(), folder / f"{alias}-password")
        authority = place.client_properties()["ssl.ca.location"]
        shutil.copy(authority, folder / f"{alias}-ca.crt")


@contextmanager
def without(lab: Lab, *rights: Right) -> Iterator[None]:
    """Take all rights away for a while, but for those given."""
    with ExitStack() as stack:
        for right in RIGHTS:
            site(lab, right).grants.revoke([right])
            stack.callback(site(lab, right).grants.grant, [right])
        for right in RIGHTS:
            expect(lab, right, DENIED)
        for right in rights:
            stack.callback(site(lab, right).grants.revoke, [right])
            site(lab, right).grants.grant([right])
        yield
    for right in RIGHTS:
        expect(lab, right, None)
