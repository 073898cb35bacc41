"""`mirrorwatch init`: a first configuration, from that of a mirror."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.text import Text

from ..config import Config
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
    to_values,
    to_yaml,
)
from ..draft.helm import FILES, find_missing, find_users
from ..draft.model import SecretFile
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
"""Folder of mounted secrets in containers."""

HEAD = (
    "Configuration of mirrorwatch, made by mirrorwatch init.",
    "All keys and defaults: docs/configuration.md",
    "It holds no secret: ${file:/path} is read at the start.",
)

CHART = "deploy/helm/mirrorwatch"
"""Folder of the chart in a checkout."""


@click.command(
    "init",
    short_help="Write a first configuration.",
    epilog="Examples: mirrorwatch init --from-strimzi mm2.yaml --output "
    "mirrorwatch.yaml; kubectl get kafkamirrormaker2,kafka,kafkauser -o yaml "
    "| mirrorwatch init --from-strimzi - --helm values.yaml",
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
@click.option(
    "--helm",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write values of the Helm chart instead: configuration, secrets and "
    "Kafka users.",
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
    helm: Path | None,
    force: bool,
) -> None:
    """Write a first configuration, made from that of the mirror.

    The next steps are printed on stderr. No secret is written to the file.
    """
    if more and not strimzi:
        raise click.UsageError(f"What is {more[0]!r} for? See --help.")
    if sum(map(bool, (strimzi, properties, connect))) != 1:
        raise click.UsageError(
            "Give one of --from-strimzi, --from-properties and --from-connect."
        )
    if helm is not None and output is not None:
        raise click.UsageError("Give one of --output and --helm.")
    output = output or helm
    if output is not None and not force and os.path.lexists(output):
        raise ConfigError(f"{output}: exists; --force overwrites it")
    if strimzi:
        files = [_read(name) for name in (*strimzi, *more)]
        mirrors = find_strimzi_mirrors(files, user)
    elif properties is not None:
        mirrors = find_dedicated_mirrors(properties)
    else:
        mirrors = _ask_connect(connect or "", username, ca)
    draft, config = draft_configuration(mirrors, user=user, secrets=secrets)
    text = to_yaml(draft, HEAD)
    file = output or Path("FILE")
    if helm is None:
        steps = _steps(draft, secrets, file, strimzi=bool(strimzi))
    else:
        text = to_values(draft, config, text, secrets)
        steps = _helm_steps(draft, config, file)
    _write(output, text)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in (*_describe(draft, output), *_number(draft, steps)):
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


def _write(path: Path | None, text: str) -> None:
    """Write a file at once, so that none is half there, or to stdout."""
    if path is None:
        click.echo(text, nl=False)
        return
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text)
        # It holds no secret, and the container's user has to read it.
        new.chmod(0o644)
        new.replace(path)
    except OSError as e:
        new.unlink(missing_ok=True)
        raise MirrorwatchError(f"{path}: cannot write: {e.strerror}") from e


def _describe(draft: Draft, output: Path | None) -> Iterator[str]:
    names = ", ".join(
        f"{flow['source']}->{flow['target']}" for flow in draft.data["flows"]
    )
    number = len(draft.data["flows"])
    yield f"{output or 'stdout'}: {counted(number, 'flow')}, {names}"
    for gap in draft.unknown:
        yield f"Not known: {format_path(gap.path)}: {gap.text}"
    yield "Next:"


Step = tuple[str, Sequence[str]]
"""A step, and its commands or files."""


def _number(draft: Draft, steps: Iterable[Step]) -> Iterator[str]:
    title = "Add the canary topic to the mirror's filter:"
    first: list[Step] = [(title, draft.filters)] if draft.filters else []
    for number, (title, lines) in enumerate((*first, *steps), start=1):
        yield f"{number}. {title}"
        yield from (f"   {line}" for line in lines)


def _steps(
    draft: Draft, secrets: str, file: Path, *, strimzi: bool
) -> Iterator[Step]:
    form = " --format strimzi" if strimzi else ""
    yield (
        "Create a user on each cluster, with these rights:",
        [f"mirrorwatch acls --config {file}{form}"],
    )
    if draft.secrets:
        yield (
            f"Put into {secrets}, readable for the agent only:",
            [*map(_describe_file, draft.secrets.values())],
        )
    commands = [
        f"mirrorwatch {c} --config {file}" for c in ("check-config", "doctor")
    ]
    yield "Check the file, then the connections:", commands


def _helm_steps(draft: Draft, config: Config, file: Path) -> Iterator[Step]:
    place = f" --namespace {draft.namespace}" if draft.namespace else ""
    made = {user["cluster"] for user in find_users(draft, config)}
    commands = [
        f"mirrorwatch acls --config {file} --cluster {alias}"
        + (" --format strimzi" if cluster.kafka else "")
        for alias, cluster in draft.clusters.items()
        if cluster.kafka not in made
    ]
    if commands:
        title = "Create the user, if it is missing, with these rights:"
        yield title, commands
    missing = find_missing(draft)
    if missing:
        files = " ".join(f"--from-file={each.name}" for each in missing)
        yield (
            f"Create the Secret {FILES} of these files:",
            [
                *map(_describe_file, missing),
                f"kubectl{place} create secret generic {FILES} {files}",
            ],
        )
    image = "--set image.repository=REGISTRY/mirrorwatch"
    yield (
        "Install, with the image that you built (docs/release.md):",
        [f"helm install mirrorwatch {CHART}{place} --values {file} {image}"],
    )
    yield (
        "Check the connections, then read the verdicts:",
        [
            f"helm test mirrorwatch{place} --logs",
            f"kubectl{place} exec deploy/mirrorwatch -- mirrorwatch status",
        ],
    )


def _describe_file(file: SecretFile) -> str:
    command = "; ".join(map(str, file.keys))
    if len(file.keys) > 1:
        command = f"({command})"
    text = f"{file.name}: {file.purpose}"
    return f"{text}: {command}" if command else text
