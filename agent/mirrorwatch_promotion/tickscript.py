"""Rewrites TICKscripts: the texts in them, by where they are used."""

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from mirrorwatch.secrets import looks_secret

from .queries import (
    Token,
    join,
    meaningful,
    rewrite_flux,
    rewrite_influxql,
    tokenize,
)
from .values import Rewriter, ValueKind

__all__ = ["Slot", "Slots", "TickScript", "fill", "find_slot", "slots_of"]


class Slot(Enum):
    """How a text is read that is not one value of a `Kind`."""

    INFLUXQL = auto()
    """A query in InfluxQL."""

    FLUX = auto()
    """A query in Flux."""

    PROSE = auto()
    """A text for people: only addresses in it change."""

    NAME = auto()
    """The name of a measurement or an alert topic: its prefix changes."""

    TEXT = auto()
    """Any other text: a value that is compared, such as a tag's."""


Slots = tuple[ValueKind | Slot, ...]
"""How a value is read: in one way, unless a variable is used for several
things."""

_RECEIVERS = (
    *("accountname", "alertgroup", "apikey", "appkey", "channel", "chatid"),
    *("cluster", "email", "endpoint", "handlers", "integrationkey"),
    *("recipients", "recipientslist", "room", "routingkey", "servicekey"),
    *("teams", "teamslist", "to", "token", "userkey", "workspace"),
    "brokername",
)

_SLOTS: dict[str, ValueKind | Slot] = {
    **dict.fromkeys(_RECEIVERS, ValueKind.HANDLER),
    "database": ValueKind.DATABASE,
    "retentionpolicy": ValueKind.RETENTION_POLICY,
    "measurement": Slot.NAME,
    "topic": Slot.NAME,
    "topics": Slot.NAME,
    "kafkatopic": Slot.NAME,
    "mqtt": Slot.NAME,
    "query": Slot.INFLUXQL,
    "queryflux": Slot.FLUX,
    "message": Slot.PROSE,
    "details": Slot.PROSE,
    "post": ValueKind.ENDPOINT,
    "httppost": ValueKind.ENDPOINT,
    "tcp": ValueKind.ENDPOINT,
    "addr": ValueKind.ENDPOINT,
    "address": ValueKind.ENDPOINT,
    "url": ValueKind.ENDPOINT,
    "channelurl": ValueKind.ENDPOINT,
}
"""Properties and nodes of TICKscripts, and options of topic handlers, which
are the same words with hyphens."""


def find_slot(name: str) -> ValueKind | Slot | None:
    """Return how the value of a property or option is read, if known.

    Notes
    -----
    What opens a door at the one site (``password``, ``Authorization``) opens
    none at the other, and must not get there unseen.
    """
    slot = _SLOTS.get(name.replace("-", "").replace("_", "").lower())
    if slot is None and looks_secret(name, in_data=True):
        return ValueKind.HANDLER
    return slot


def slots_of(variable: str, rewriter: Rewriter) -> Slots:
    """Return how the value of a dashboard's variable is read."""
    kinds = rewriter.uses.get(variable, ())
    return tuple(sorted(kinds)) or (Slot.TEXT,)


def fill(slots: Slots, value: str, rewriter: Rewriter) -> str:
    """Rewrite a value by how it is read, which stops if that is unclear."""
    found = {_fill(slot, value, rewriter): slot for slot in slots}
    if len(found) > 1:
        kinds = [slot for slot in slots if isinstance(slot, ValueKind)]
        why = "is used for several things, which differ at the other site"
        return rewriter.stop(
            kinds[0] if kinds else ValueKind.DATABASE, value, why
        )
    return next(iter(found))


def _fill(slot: ValueKind | Slot, value: str, rewriter: Rewriter) -> str:
    match slot:
        case Slot.INFLUXQL:
            return rewrite_influxql(value, rewriter)
        case Slot.FLUX:
            return rewrite_flux(value, rewriter)
        case Slot.PROSE:
            return rewriter.prose(value)
        case Slot.TEXT:
            return rewriter.text(value)
        case Slot.NAME | ValueKind():
            kind = ValueKind.TOPIC_PREFIX if slot is Slot.NAME else slot
            return rewriter.value(kind, value)


PARTLY = {Slot.NAME, Slot.PROSE, Slot.TEXT}
"""What can be told of a part of a text: only its beginning matters, or what
stands inside."""

OPENING, CLOSING = {"(", "["}, {")", "]"}


class TickScript:
    """A script whose texts are known by their use.

    Parameters
    ----------
    text
        The script.

    Notes
    -----
    What a text names is told by the property that it is given to, be it
    there or by a variable: ``var db = 'efd'`` is a database if the script
    says ``.database(db)``. The names of variables tell nothing.
    """

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text, "tick")
        self._indices = list(meaningful(self._tokens))
        self._slots: dict[int, Slots] = {}
        self._parts: dict[int, Slots] = {}
        self._properties: dict[int, str] = {}
        self._uses: dict[str, dict[ValueKind | Slot, str]] = {}
        for at in range(len(self._indices)):
            self._look_at(at)
        # A variable is used after it is declared: the last one first.
        for at in reversed(range(len(self._indices))):
            if self._at(at).raw == "var" and self._at(at + 2).raw == "=":
                self._declare(self._at(at + 1).raw, at + 3)

    def rewrite(self, rewriter: Rewriter) -> str:
        """Return the script as the other site needs it."""
        tokens = list(self._tokens)
        line = 1
        for index, token in enumerate(self._tokens):
            named = self._properties.get(index)
            with rewriter.at(f"line {line}", *([named] if named else ())):
                tokens[index] = self._rewrite(index, token, rewriter)
            line += token.raw.count("\n")
        return join(tokens)

    def slots_of(self, variable: str) -> Slots:
        """Return how the value of a variable is read; seldom in two ways."""
        uses = set(self._uses.get(variable, ()))
        # A name may be told to people as well; that decides nothing.
        telling = uses - {Slot.PROSE} or uses
        return tuple(sorted(telling, key=str)) or (Slot.TEXT,)

    def property_of(self, variable: str) -> str:
        """Return the names of the properties that a variable is given to."""
        uses = self._uses.get(variable, {})
        used = (uses.get(slot) for slot in self.slots_of(variable))
        return ", ".join(filter(None, used))

    def _look_at(self, at: int) -> None:
        word = self._at(at)
        if word.kind != "word":
            return
        if word.raw == "dbrp" and self._at(at + 1).kind == "name":
            self._slots[self._indices[at + 1]] = (ValueKind.DATABASE,)
            self._slots[self._indices[at + 3]] = (ValueKind.RETENTION_POLICY,)
        slot = find_slot(word.raw)
        called = self._at(at - 1).raw in {".", "|"} and (
            self._at(at + 1).raw == "("
        )
        if slot is not None and at and called:
            for argument in self._arguments(at + 2):
                self._assign(argument, (slot,), word.raw)
        elif word.raw == "header" and called:
            self._look_at_header([*self._arguments(at + 2)])

    def _look_at_header(self, arguments: Sequence[list[int]]) -> None:
        """Say how the value of a header is read: by the header's name."""
        match arguments:
            case [[name], value] if self._at(name).kind == "text":
                header = _bare(self._at(name))
                slot = find_slot(header) or Slot.TEXT
                self._assign(value, (slot,), f"header {header}")
            case _:
                pass

    def _arguments(self, at: int) -> Iterator[list[int]]:
        """Yield the tokens of each argument, from the first one on."""
        depth, argument = 1, list[int]()
        while depth and self._at(at).raw:
            raw = self._at(at).raw
            depth += (raw in OPENING) - (raw in CLOSING)
            if not depth or (depth == 1 and raw == ","):
                yield argument
                argument = []
            else:
                argument.append(at)
            at += 1

    def _assign(
        self, argument: Sequence[int], slots: Slots, name: str
    ) -> None:
        """Say how the texts of an argument are read."""
        if not argument or self._at(argument[0]).raw == "lambda":
            return
        listed = self._at(argument[0]).raw == "["
        alone = len(argument) == 1 or listed
        for position, at in enumerate(argument):
            token, index = self._at(at), self._indices[at]
            used = slots
            if slots == (Slot.NAME,) and position and not listed:
                used = (Slot.TEXT,)  # what follows a prefix
            if token.kind == "word":
                known = self._uses.setdefault(token.raw, {})
                known.update(dict.fromkeys(used, name))
            if token.kind == "text":
                self._properties[index] = name
                whole = alone or PARTLY.issuperset(used)
                (self._slots if whole else self._parts)[index] = used

    def _declare(self, name: str, at: int) -> None:
        """Say how the texts of a variable's value are read."""
        if self._at(at).raw == "[":
            value = [at, *next(self._arguments(at + 1), [])]
            value += [p for a in self._arguments(at + 1) for p in a]
        else:
            value = [at]
            while self._at(at + 1).raw == "+":
                value += [at + 1, at + 2]
                at += 2
        if name in self._uses:
            self._assign(value, self.slots_of(name), self.property_of(name))

    def _rewrite(self, index: int, token: Token, rewriter: Rewriter) -> Token:
        if index in self._parts:
            kinds = [k for k in self._parts[index] if isinstance(k, ValueKind)]
            rewriter.stop(
                kinds[0] if kinds else ValueKind.DATABASE,
                _bare(token),
                "is one of several texts put together, not a whole name",
            )
        elif token.kind == "regex":
            return Token("regex", rewriter.regex(token.raw))
        elif token.kind == "text" or index in self._slots:
            old = _bare(token)
            slots = self._slots.get(index, (Slot.TEXT,))
            new = fill(slots, old, rewriter)
            if new != old:
                return Token(token.kind, _quote(token, new))
        return token

    def _at(self, at: int) -> Token:
        if not 0 <= at < len(self._indices):
            return Token("space", "")
        return self._tokens[self._indices[at]]


def _bare(token: Token) -> str:
    if token.raw.startswith("'''"):
        return token.raw[3:-3]
    mark = token.raw[0]
    return token.raw[1:-1].replace(f"\\{mark}", mark)


def _quote(token: Token, text: str) -> str:
    mark = token.raw[0]
    # A backslash escapes a quote and nothing else, not even itself.
    unclear = text.endswith("\\") or f"\\{mark}" in text
    if mark == "'" and (token.raw.startswith("'''") or unclear):
        return f"'''{text}'''"
    return mark + text.replace(mark, f"\\{mark}") + mark
