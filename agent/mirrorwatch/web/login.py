"""Login for the agent's web server: passwords and tokens, as hashes.

A password is checked with bcrypt, which takes a tenth of a second on purpose.
So a right one is checked once, and a scrape every 15 s costs nothing; and
wrong ones are checked one after another, so that guessing takes no processor
time from the monitoring.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["STRANGER", "Credentials", "Login", "matches"]

LOG = logging.getLogger("uvicorn.error")

STRANGER = "mirrorwatch.stranger"
"""Set in the scope of requests without a login."""

OPEN = frozenset({"/healthz", "/readyz", "/api/audit/results"})
"""Answered without a login too: Kubernetes' and load balancers' probes have
none, and get the status only; audits have a token of their own."""

REMEMBERED = 256
"""Checked credentials that are kept, right ones and wrong ones each. More than
a site has clients; a flood of wrong ones pushes out no right one."""

MOST_WAITING = 16
"""Credentials that wait for their check: a browser opens six connections."""

PAUSE_SECONDS = 0.25
"""After a wrong password, until the next unknown one is checked: a guesser has
four a second at most, whatever its speed."""

NOBODY = "QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
"""Salt and hash that Prometheus, too, checks for a user that there is not: the
time of the answer does not say whose names are known."""


class TooManyError(Exception):
    """Too many credentials wait for their check."""


class Credentials:
    """Passwords and tokens that are accepted.

    Parameters
    ----------
    users
        bcrypt hash of the password, by name of the user.
    tokens
        SHA-256 of the token in hexadecimal, by its name.
    """

    def __init__(
        self, users: Mapping[str, str], tokens: Mapping[str, str]
    ) -> None:
        self._users = {u.encode(): h.encode() for u, h in users.items()}
        self._tokens = [bytes.fromhex(digest) for digest in tokens.values()]
        cost = max((int(h.split("$")[2]) for h in users.values()), default=0)
        self._nobody = f"$2b${cost:02}${NOBODY}".encode()
        # What is kept is of no use to who reads the memory of another run.
        self._salt = secrets.token_bytes(32)
        self._right = Remembered()
        self._wrong = Remembered()
        self._one = asyncio.Lock()
        self._waiting = 0

    @property
    def challenge(self) -> str:
        """Challenge for a client without a login (``WWW-Authenticate``)."""
        ways = []
        if self._users:
            ways.append('Basic realm="mirrorwatch", charset="UTF-8"')
        if self._tokens:
            ways.append('Bearer realm="mirrorwatch"')
        return ", ".join(ways)

    async def accept(self, header: str) -> bool:
        """Return whether a header ``Authorization`` holds right credentials.

        Raises
        ------
        TooManyError
            Raised if too many others wait for their check.
        """
        scheme, _, value = header.partition(" ")
        match scheme.lower():
            case "bearer" if self._tokens:
                return self._is_token(value.strip())
            case "basic" if self._users:
                return await self._is_password(value.strip())
            case _:
                return False

    def _is_token(self, token: str) -> bool:
        digest = hashlib.sha256(token.encode("latin-1")).digest()
        # Every one is compared: the time does not say which was like it.
        same = [hmac.compare_digest(digest, each) for each in self._tokens]
        return any(same)

    async def _is_password(self, value: str) -> bool:
        try:
            decoded = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return False
        user, colon, password = decoded.partition(b":")
        if not colon:
            return False
        wanted = self._users.get(user, self._nobody)
        key = hmac.digest(
            self._salt, b"%d:%b%b" % (len(user), user, password), "sha256"
        )
        if (known := self._known(key)) is not None:
            return known
        if self._waiting >= MOST_WAITING:
            raise TooManyError
        self._waiting += 1
        try:
            async with self._one:
                # Another connection may have brought the same meanwhile.
                if (known := self._known(key)) is None:
                    known = await self._check(key, password, wanted)
        finally:
            self._waiting -= 1
        return known

    async def _check(self, key: bytes, password: bytes, wanted: bytes) -> bool:
        same = await asyncio.to_thread(matches, password, wanted)
        right = same and wanted is not self._nobody
        (self._right if right else self._wrong).add(key)
        if not right:
            await asyncio.sleep(PAUSE_SECONDS)
        return right

    def _known(self, key: bytes) -> bool | None:
        if key in self._right:
            return True
        return False if key in self._wrong else None


class Login:
    """Answers those alone who have credentials.

    Parameters
    ----------
    app
        Application for them.
    credentials
        Passwords and tokens that are accepted.
    """

    def __init__(self, app: ASGIApp, credentials: Credentials) -> None:
        self._app = app
        self._credentials = credentials

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        given = Headers(scope=scope).getlist("authorization")
        answer: ASGIApp = self._ask(again=bool(given))
        try:
            # Of two, another server might take the one that this does not.
            if len(given) == 1 and await self._credentials.accept(given[0]):
                answer = self._app
        except TooManyError:
            answer = PlainTextResponse(
                "Too many logins at a time. Try again later",
                status_code=429,
                headers={"Retry-After": "1"},
            )
        if answer is not self._app and scope["path"] in OPEN:
            answer, scope = self._app, {**scope, STRANGER: True}
        elif given and answer is not self._app:
            client = (scope.get("client") or ("?",))[0]
            LOG.warning("A login from %s was refused", client)
        await answer(scope, receive, send)

    def _ask(self, *, again: bool) -> Response:
        said = "The login is wrong" if again else "A login is required"
        return PlainTextResponse(
            f"{said}: see web.basic_auth_users and web.bearer_tokens in "
            "mirrorwatch's configuration",
            status_code=401,
            headers={"WWW-Authenticate": self._credentials.challenge},
        )


class Remembered:
    """So many keys; of one more, the one that was used longest ago goes."""

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}

    def __contains__(self, key: bytes) -> bool:
        if key not in self._keys:
            return False
        del self._keys[key]
        self._keys[key] = None
        return True

    def add(self, key: bytes) -> None:
        self._keys[key] = None
        if len(self._keys) > REMEMBERED:
            del self._keys[next(iter(self._keys))]


def matches(password: bytes, wanted: bytes) -> bool:
    """Return whether a password has a hash."""
    import bcrypt  # noqa: PLC0415 - most agents ask for no password

    try:
        return bcrypt.checkpw(password, wanted)
    except ValueError:  # longer than the 72 bytes that bcrypt reads
        return False
