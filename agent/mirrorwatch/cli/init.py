"""`mirrorwatch init`: a first configuration, from that of a mirror."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.text import Text

from ..config.base import format_path, read_text
from ..config.types import HttpUrl
from ..domain.report import counted
from ..draft import (
    Draft,
    FoundMirror,
    draft_configuration,
    find_connector_mirrors,
    find_dedicated_mirrors,
    find_strimzi_mirrors,
    to_yaml,
)
from ..draft.model import Place, Setting, SourceFilter
from ..draft.properties import STORAGE
from ..exceptions import ConfigError, MirrorwatchError
from ..http import HttpAddress
from ..secrets import hide_secrets

__all__ = ["command"]

MOST_BYTES = 1024 * 1024
"""Of a file of custom resources: those of some hundred users."""

TOO_LARGE = (
    f"too large: at most {MOST_BYTES // 1024} KiB; take kafkamirrormaker2 and "
    "kafka only, and the agent's own kafkauser"
)

SECRETS = "/run/secrets/mirrorwatch"
"""Where containers get theirs."""

HEAD = (
    "Configuration of mirrorwatch, made by mirrorwatch init.",
    "All keys and defaults: docs/configuration.md",
    "It holds no secret: ${file:/path} and ${env:NAME} are read at the start.",
)

POLICIES = {
    "default": "DefaultReplicationPolicy",
    "identity": "IdentityReplicationPolicy",
}


@click.command(
    "init",
    short_help="Write a first configuration.",
    epilog="Examples: mirrorwatch init --from-strimzi mm2.yaml --output "
    "mirrorwatch.yaml; kubectl get kafkamirrormaker2,kafka,kafkauser -o yaml "
    "| mirrorwatch init --from-strimzi - > mirrorwatch.yaml",
)
@click.option(
    "--from-strimzi",
    "strimzi",
    multiple=True,
    metavar="FILE...",
    help="Custom resources as kubectl get -o yaml prints them; - is stdin.",
)
@click.argument("more", nargs=-1, metavar="")
@click.option(
    "--from-properties",
    "properties",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="mm2.properties of a dedicated MirrorMaker 2.",
)
@click.option(
    "--from-connect",
    "connect",
    metavar="URL",
    help="REST API of the Connect cluster that runs the mirror.",
)
@click.option(
    "--username",
    metavar="NAME",
    help="User of the REST API. Its password is asked for, or taken from "
    "CONNECT_PASSWORD.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="PEM file with the CA of the REST API.",
)
@click.option(
    "--user",
    default="mirrorwatch",
    show_default=True,
    metavar="NAME",
    help="The agent's own user on each cluster.",
)
@click.option(
    "--secrets",
    default=SECRETS,
    show_default=True,
    metavar="FOLDER",
    help="Where passwords and certificates will be.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write. Default: stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(
    *,
    strimzi: tuple[str, ...],
    more: tuple[str, ...],
    properties: Path | None,
    connect: str | None,
    username: str | None,
    ca: Path | None,
    user: str,
    secrets: str,
    output: Path | None,
    force: bool,
) -> None:
    """Write a first configuration, made from that of the mirror.

    Without a --from option it asks a few questions. What it cannot know, and
    the change of the mirror's filter for the canary, is reported on stderr
    and in comments. No secret is written to the file.
    """
    if more and not strimzi:
        raise click.UsageError(f"What is {more[0]!r} for? See --help.")
    if sum(map(bool, (strimzi, properties, connect))) > 1:
        raise click.UsageError(
            "Give one of --from-strimzi, --from-properties and --from-connect."
        )
    if output is not None and not force and os.path.lexists(output):
        raise ConfigError(f"{output}: exists; --force overwrites it")
    if strimzi:
        files = [_read(name) for name in (*strimzi, *more)]
        mirrors = find_strimzi_mirrors(files, user)
    elif properties is not None:
        mirrors = find_dedicated_mirrors(properties)
    elif connect is not None:
        mirrors = _ask_connect(connect, username, ca)
    else:
        mirrors = [_ask_people()]
    draft = draft_configuration(mirrors, user=user, secrets=secrets)
    text = to_yaml(draft, HEAD)
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in describe_rest(draft, secrets, output):
        console.print(Text(hide_secrets(line)))


def _read(name: str) -> tuple[str, str]:
    if name == "-":
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ConfigError(f"stdin: {TOO_LARGE}")
        try:
            return "stdin", data.decode("utf-8-sig")
        except UnicodeDecodeError as e:
            raise ConfigError("stdin: not UTF-8 text") from e
    try:
        return name, read_text(Path(name), MOST_BYTES)
    except ValueError as e:
        # Its remedy is that of a configuration.
        large = str(e).startswith("too large")
        raise ConfigError(f"{name}: {TOO_LARGE if large else e}") from e


def _ask_connect(
    given: str, username: str | None, ca: Path | None
) -> Sequence[FoundMirror]:
    try:
        url = TypeAdapter(HttpUrl).validate_python(given)
    except ValidationError as e:
        (fault,) = e.errors()
        raise click.BadParameter(
            fault["msg"], param_hint="--from-connect"
        ) from None
    password = None
    if username is not None:
        password = os.environ.get("CONNECT_PASSWORD") or click.prompt(
            f"Password of {username}", hide_input=True, err=True
        )
    address = HttpAddress(url=url, username=username, password=password, ca=ca)
    return find_connector_mirrors(address, None if ca is None else str(ca))


def is_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty()


def _ask_people() -> FoundMirror:
    if not is_terminal():
        raise click.UsageError(
            "Give --from-strimzi, --from-properties or --from-connect; "
            "questions need a terminal."
        )
    place = Place("answer", 0, "")
    found: dict[str, str] = {}
    for side in ("source", "target"):
        prefix = f"{side}.cluster."
        found[f"{prefix}alias"] = click.prompt(
            f"MirrorMaker's alias of the {side} cluster", err=True
        )
        found[f"{prefix}bootstrap.servers"] = click.prompt(
            "Its brokers (host:port,...)", err=True
        )
        protocol = click.prompt(
            "How clients connect to it",
            type=click.Choice(
                ["PLAINTEXT", "SSL", "SASL_SSL", "SASL_PLAINTEXT"],
                case_sensitive=False,
            ),
            default="PLAINTEXT",
            err=True,
        )
        found[f"{prefix}security.protocol"] = protocol
        if protocol.endswith("SSL"):
            found[f"{prefix}ssl.truststore.location"] = ""
        if protocol.startswith("SASL"):
            found[f"{prefix}sasl.mechanism"] = click.prompt(
                "SASL mechanism", default="SCRAM-SHA-512", err=True
            )
    dedicated = click.confirm(
        "Does MirrorMaker run by connect-mirror-maker.sh (not on Kafka "
        "Connect or Strimzi)?",
        err=True,
    )
    topics = {
        kind: click.prompt(
            f"The worker's {setting}",
            default=f"mirrormaker2-cluster-{kind}",
            err=True,
        )
        for kind, setting in ({} if dedicated else STORAGE).items()
    }
    policy = click.prompt(
        "Do topics get a prefix at the target (default) or keep their names "
        "(identity)?",
        type=click.Choice(list(POLICIES)),
        default="default",
        err=True,
    )
    found["replication.policy.class"] = POLICIES[policy]
    found["topics"] = click.prompt(
        "MirrorMaker's filter of topics", default=".*", err=True
    )
    return FoundMirror(
        place=place,
        settings={
            key: Setting(value.strip(), place._replace(key=key))
            for key, value in found.items()
        },
        dedicated=dedicated,
        filter=SourceFilter(
            place=place._replace(key="topics"), kind="connector", key="topics"
        ),
        topics={
            kind: Setting(name.strip(), place._replace(key=kind))
            for kind, name in topics.items()
        },
    )


def _write(path: Path, text: str) -> None:
    """Write a file at once, so that none is half there."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text)
        new.replace(path)
    except OSError as e:
        new.unlink(missing_ok=True)
        raise MirrorwatchError(f"{path}: cannot write: {e.strerror}") from e


def describe_rest(
    draft: Draft, secrets: str, output: Path | None
) -> Iterator[str]:
    """Yield what is left to do, line by line."""
    names = ", ".join(
        f"{flow['source']}->{flow['target']}" for flow in draft.data["flows"]
    )
    number = len(draft.data["flows"])
    yield f"{output or 'stdout'}: {counted(number, 'flow')}, {names}"
    if draft.secrets:
        yield f"Put into {secrets}, readable for the agent only:"
    for each in draft.secrets.values():
        command = f": {each.command}" if each.command else ""
        yield f"  {each.name}: {each.purpose}{command}"
    for name in dict.fromkeys(draft.variables):
        yield f"Set in the environment: {name}"
    for gap in draft.unknown:
        yield f"Not known: {format_path(gap.path)}: {gap.text}"
    if draft.filters:
        yield "Add the canary topic to the mirror's filter:"
    elif draft.carries_canary:
        yield "The mirror's filter carries the canary topic as it is."
    yield from (f"  {line}" for line in draft.filters)
    file = output or Path("FILE")
    yield f"Then: mirrorwatch check-config --config {file}"
    yield f"      mirrorwatch acls --config {file}"
    yield f"      mirrorwatch doctor --config {file}"
