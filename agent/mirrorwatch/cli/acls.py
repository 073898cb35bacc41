"""`mirrorwatch acls`: the rights that the agent needs on each cluster."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
import yaml

from ..config import Config
from ..config.base import format_path
from ..domain.acls import ACL_WORDS, Right, to_strimzi_acls
from ..secrets import hide_secrets
from ..wiring.context import find_rights
from .options import config_path_option

__all__ = ["command"]

TOOL = (
    'kafka-acls.sh --bootstrap-server "$BOOTSTRAP" '
    "--command-config admin.properties"
)


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


def to_users(
    rights: Mapping[str, Sequence[Right]], user: str, config: Config
) -> str:
    """Return a Strimzi `KafkaUser` for each cluster."""
    documents = []
    for alias, wanted in rights.items():
        sasl = "sasl.username" in config.clusters[alias].kafka
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
                    "authentication": {
                        "type": "scram-sha-512" if sasl else "tls"
                    },
                    "authorization": {
                        "type": "simple",
                        "acls": to_strimzi_acls(
                            [
                                replace(r, topic=hide_secrets(r.topic))
                                for r in wanted
                            ]
                        ),
                    },
                },
            },
            sort_keys=False,
        )
        reasons = [f"#   {r}: {r.purpose}" for r in wanted]
        documents.append(
            f"# For {cluster}. Set strimzi.io/cluster to the name of the\n"
            "# Kafka resource. Strimzi before 0.49 takes "
            "kafka.strimzi.io/v1beta2.\n"
            + hide_secrets("\n".join(reasons))
            + f"\n{text}"
        )
    return "---\n".join(documents).rstrip()


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
    "--cluster",
    "alias",
    metavar="ALIAS",
    help="Only this cluster. Default: all.",
)
def command(path: Path, *, form: str, user: str, alias: str | None) -> None:
    """Print the rights that the agent needs on each cluster.

    Nothing is connected to, and no secret is read. The reason stands beside
    each right.
    """
    config, unresolved = Config.from_file_unfollowed(
        path, without=("sinks", "web")
    )
    names = [format_path(key) for key in unresolved if key[0] == "flows"]
    if config is None or names:
        raise click.UsageError(
            "Rights depend on these references, which are not secret: write "
            f"their values: {', '.join(names or map(format_path, unresolved))}"
        )
    rights = find_rights(config)
    if alias is not None:
        if alias not in rights:
            raise click.BadParameter(
                f"allowed are {', '.join(rights)}", param_hint="--cluster"
            )
        rights = {alias: rights[alias]}
    if form == "strimzi":
        click.echo(to_users(rights, user, config))
    else:
        click.echo(to_commands(rights, user))
