"""Client of a running agent: its address, login and answers."""

import base64
import functools
import ipaddress
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import httpx

from ..exceptions import WebError
from ..http import bounded_client, trust

__all__ = ["Agent", "agent_options"]

DEFAULT_URL = "http://127.0.0.1:8080"
PATIENCE_SECONDS = 5.0
"""The agent answers in milliseconds; more is a fault."""

ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""An agent that listens on every address is reached by loopback."""

OPTIONS = (
    click.option(
        "--url",
        metavar="URL",
        help=f"Address of the agent; else from --config, else {DEFAULT_URL}.",
    ),
    click.option(
        "--config",
        "file",
        type=click.Path(path_type=Path),
        envvar="MIRRORWATCH_CONFIG",
        show_envvar=True,
        metavar="FILE",
        help="Configuration file of the agent, for its listening address.",
    ),
    click.option(
        "--user",
        metavar="NAME",
        help="User, of an agent that asks for a password (--password-file).",
    ),
    click.option(
        "--password-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with the password of --user.",
    ),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with a token, of an agent that asks for one.",
    ),
    click.option(
        "--cacert",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="PEM file of the CA of the agent's certificate; else the "
        "system's.",
    ),
)


def agent_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of address and login; the command gets an `Agent`."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        url: str | None,
        file: Path | None,
        user: str | None,
        password_file: Path | None,
        token_file: Path | None,
        cacert: Path | None,
        **more: Any,
    ) -> None:
        login = _read_login(user, password_file, token_file)
        address = url or _configured_url(file)
        agent = Agent(address=address, login=login, verify=_read_ca(cacert))
        command(*args, agent=agent, **more)

    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Address of an agent, and how to be let in."""

    address: str
    login: str | None
    verify: ssl.SSLContext

    def ask(
        self, path: str, key: str, params: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the agent's answer.

        Parameters
        ----------
        path
            Path of the API.
        key
            Key of the list that the answer must have.
        params
            Parameters of the request.

        Raises
        ------
        WebError
            Raised if there is none.
        """
        try:
            url = httpx.URL(self.address.rstrip("/") + path)
        except httpx.InvalidURL as e:
            raise click.BadParameter(
                f"{self.address!r}: {e}", param_hint="--url"
            ) from e
        if url.scheme not in {"http", "https"} or not url.host:
            raise click.BadParameter(
                "it must begin with http:// or https:// and a host",
                param_hint="--url",
            )
        # A password in the address is for the server, not for the screen.
        shown = str(url.copy_with(username=None, password=None))
        try:
            with bounded_client(
                timeout_seconds=PATIENCE_SECONDS,
                # No proxy can lead to this machine.
                trust_env=not _is_loopback(url.host),
                verify=self.verify,
                headers={"Authorization": self.login} if self.login else {},
            ) as http:
                answer = http.get(url, params=params)
        except httpx.HTTPError as e:
            raise WebError(
                f"No agent answers at {shown}: {e or type(e).__name__}. Is it "
                "running (mirrorwatch run)? Its address is web.listen in its "
                "configuration: give that with --config, or another with "
                "--url; for https, a name in its certificate, and --cacert"
            ) from e
        return _read(answer, key, shown)


def _configured_url(file: Path | None) -> str:
    """Return where the configured agent listens, as seen from here."""
    if file is None:
        return DEFAULT_URL
    from ..config import Config  # noqa: PLC0415 - half a second, rarely needed

    web = Config.from_file(file).web
    if web.port == 0:
        raise WebError(
            f"{file} lets the agent choose its port (web.listen has port 0): "
            "give the address that it printed with --url"
        )
    host = ANY_ADDRESS.get(web.host, web.host)
    host = f"[{host}]" if ":" in host else host
    return f"{web.scheme}://{host}:{web.port}"


def _read_login(
    user: str | None, password_file: Path | None, token_file: Path | None
) -> str | None:
    """Return the header ``Authorization``, if one is wanted.

    From files: an argument would be in the process list.
    """
    if (user is None) != (password_file is None):
        raise click.UsageError("--user and --password-file need each other")
    if user is not None and token_file is not None:
        raise click.UsageError("give --user or --token-file, not both")
    if password_file is not None:
        password = _read_secret(password_file, "--password-file")
        pair = base64.b64encode(f"{user}:{password}".encode())
        return f"Basic {pair.decode()}"
    if token_file is not None:
        return f"Bearer {_read_secret(token_file, '--token-file')}"
    return None


def _read_secret(path: Path, option: str) -> str:
    """Return what a file holds, without the end of its line.

    Raises
    ------
    click.BadParameter
        Raised if it cannot be read, or is no secret of one line.
    """
    try:
        text = path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as e:
        why = getattr(e, "strerror", None) or "it is no text"
        raise click.BadParameter(f"{path}: {why}", param_hint=option) from None
    if not text.isprintable() or not text:
        raise click.BadParameter(
            f"{path} must hold one line", param_hint=option
        )
    return text


def _read_ca(path: Path | None) -> ssl.SSLContext:
    """Return how the agent's certificate is verified.

    Raises
    ------
    click.BadParameter
        Raised if the file cannot be used.
    """
    try:
        return trust(path)
    except (OSError, ValueError) as e:
        raise click.BadParameter(
            f"{path}: no PEM file of certificates that can be read",
            param_hint="--cacert",
        ) from e


def _read(answer: httpx.Response, key: str, shown: str) -> dict[str, Any]:
    """Return the document; 503 brings one too, before the first report."""
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise WebError(
            f"What answers at {shown} asks for a login, or for another one: "
            "give --user and --password-file, or --token-file"
        )
    try:
        document = answer.json()
    except (ValueError, RecursionError):
        document = None
    if (
        answer.status_code not in {200, 503}
        or not isinstance(document, dict)
        or not isinstance(document.get(key), list)
    ):
        raise WebError(
            f"What answers at {shown} (HTTP {answer.status_code}) is not a "
            "mirrorwatch agent: give the agent's address with --url"
        )
    return document


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
