"""`mirrorwatch acls`: the rights that the agent needs on each cluster."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import yaml

from ..config import Config
from ..config.base import format_path
from ..domain.acls import ACL_WORDS, Right
from ..secrets import hide_secrets
from ..wiring.context import rights_of
from .options import config_path_option

__all__ = ["command", "find_rights"]

TOOL = (
    'kafka-acls.sh --bootstrap-server "$BOOTSTRAP" '
    "--command-config admin.properties"
)


def find_rights(config: Config) -> dict[str, list[Right]]:
    """Return the rights that a configuration needs, by cluster."""
    found: dict[str, dict[tuple[object, ...], Right]] = {
        alias: {} for alias in config.clusters
    }
    for flow in config.flows:
        for right in rights_of(
            flow,
            audit=config.audit is not None,
            schemas=config.compares_schemas(flow),
        ):
            alias = flow.source if right.side == "source" else flow.target
            key = (right.kind, right.topic, right.prefixed, right.operation)
            found[alias].setdefault(key, right)
    return {alias: list(rights.values()) for alias, rights in found.items()}


def to_commands(rights: Mapping[str, Sequence[Right]], user: str) -> str:
    """Return a `kafka-acls.sh` command for each right."""
    lines = []
    for number, (alias, wanted) in enumerate(rights.items()):
        lines += [""] * bool(number)
        lines += [
            f"# {hide_secrets(alias)}: set BOOTSTRAP to its brokers, and",
            "# admin.properties to how an administrator connects",
        ]
        for right in wanted:
            words = [
                *("--add", "--allow-principal", f"User:{user}"),
                *(f"--{right.kind}", hide_secrets(right.topic)),
                *(["--resource-pattern-type", "prefixed"] * right.prefixed),
                *("--operation", ACL_WORDS[right.operation]),
            ]
            lines += [
                f"# {right.check}: {right.purpose}",
                f"{TOOL} {shlex.join(words)}",
            ]
    return "\n".join(lines)


def to_users(rights: Mapping[str, Sequence[Right]], user: str) -> str:
    """Return a Strimzi `KafkaUser` for each cluster."""
    documents = []
    for alias, wanted in rights.items():
        cluster = hide_secrets(alias)
        text = yaml.safe_dump(
            {
                "apiVersion": "kafka.strimzi.io/v1",
                "kind": "KafkaUser",
                "metadata": {
                    "name": user,
                    "labels": {"strimzi.io/cluster": cluster},
                },
                "spec": {
                    "authentication": {"type": "scram-sha-512"},
                    "authorization": {
                        "type": "simple",
                        "acls": [_to_acl(right) for right in wanted],
                    },
                },
            },
            sort_keys=False,
        )
        reasons = [f"#   {r}: {r.purpose}" for r in wanted]
        documents.append(
            f"# For {cluster}. Set strimzi.io/cluster to the name of the\n"
            "# Kafka resource, and authentication as its listener wants it. "
            "Strimzi\n# before 0.49 takes kafka.strimzi.io/v1beta2.\n"
            + hide_secrets("\n".join(reasons))
            + f"\n{text}"
        )
    return "---\n".join(documents).rstrip()


def _to_acl(right: Right) -> dict[str, object]:
    return {
        "resource": {
            "type": right.kind,
            "name": hide_secrets(right.topic),
            "patternType": "prefix" if right.prefixed else "literal",
        },
        "operations": [ACL_WORDS[right.operation]],
    }


@click.command(
    "acls",
    epilog="Example: mirrorwatch acls --config mirrorwatch.yaml",
)
@config_path_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["kafka-acls", "strimzi"]),
    default="kafka-acls",
    show_default=True,
    help="Commands of Kafka's own tool, or KafkaUser resources.",
)
@click.option(
    "--user",
    default="mirrorwatch",
    show_default=True,
    metavar="NAME",
    help="The agent's user on each cluster.",
)
@click.option(
    "--without-secrets",
    is_flag=True,
    help="Follow no reference to the environment or to files: a password is "
    "there only once the user is.",
)
def command(
    path: Path, *, form: str, user: str, without_secrets: bool
) -> None:
    """Print the rights that the agent needs on each cluster.

    Nothing is connected to. The reason stands beside each right.
    """
    config = _unfollowed(path) if without_secrets else Config.from_file(path)
    write = to_commands if form == "kafka-acls" else to_users
    click.echo(write(find_rights(config), user))


def _unfollowed(path: Path) -> Config:
    """Return a configuration whose rights do not depend on references."""
    config, unfollowed = Config.from_file_unfollowed(path)
    names = [format_path(key) for key in unfollowed if key[0] == "flows"]
    if config is None or names:
        raise click.UsageError(
            "Rights depend on references that --without-secrets does not "
            f"follow: {', '.join(names or map(format_path, unfollowed))}"
        )
    return config
