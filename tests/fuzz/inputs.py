"""Inputs: examples of the corpus, changed, and what is random.

An input is bytes. Where a decoder takes several things, such as key and value
of a record, they are its parts, with `SEPARATOR` between them.
"""

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

__all__ = ["LONGEST", "SEPARATOR", "inputs", "parts_of"]

SEPARATOR = b"\n---\n"

LONGEST = 64 * 1024
"""Bytes of an input."""

NUMBERS = (
    *(0, -1, 1, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63), 2**64, 10**18, 253402300800000, 10**400),
    *(0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), float("-inf")),
)
"""Ends of ranges, and what is beyond them."""

TEXTS = (
    *("", " ", "0", "-1", "9" * 19, "9" * 5000, "1e999", "NaN", "true"),
    *("\0", "\n", "\ud800", "\udfff", "\U0001f4a9", "٣", "²", "a" * 5000),
    *("${env:HOME}", "${file:/dev/zero}", "0001-01-01T00:00:00+23:59"),
    *("=1:", "(a+)+$", "[", "*", ",", "-", ".", '"', "'", "\\", "<", "../"),
)

VALUES: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], [None], {"": None}, [0, "x"]),
    *NUMBERS,
    *TEXTS,
)

SHREDS = (
    *(text.encode("utf-8", "surrogatepass") for text in TEXTS),
    *(repr(number).encode() for number in NUMBERS),
    *(bytes([byte]) for byte in (0, 0x7F, 0x80, 0xC0, 0xED, 0xFE, 0xFF)),
    *(struct.pack(">q", n) for n in (0, -1, 2**63 - 1, -(2**63), 10**18)),
    *(struct.pack(">h", n) for n in (0, -1, 2**15 - 1, -(2**15))),
    *(b"%", b"%00", b"%ff", b"&", b"?", b"#", b"{", b"}", b"[", b"]", b":"),
    *(b"!!python/object:os.system", b"&a [*a]", b"<<: ", b"\xef\xbb\xbf"),
)

DEPTHS = (2, 50, 900, 5000, 30_000)

OPENERS = ((b"[", b"]"), (b'{"a":', b"}"), (b"{a: ", b"}"), (b"- ", b""))


def parts_of(data: bytes, count: int) -> list[bytes | None]:
    """Return so many parts of an input, `None` for those it lacks."""
    found: list[bytes | None] = [*data.split(SEPARATOR, count - 1)]
    return found + [None] * (count - len(found))


Change = Callable[[bytes, int, int], bytes]
"""Takes the bytes, a place anywhere, and a choice."""


def _flip(data: bytes, at: int, choice: int) -> bytes:
    at %= len(data) or 1
    changed = bytes([data[at] ^ 1 << choice % 8]) if data else b"\0"
    return data[:at] + changed + data[at + 1 :]


def _cut(data: bytes, at: int, choice: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + data[at + 1 + choice :] if choice % 4 else data[:at]


def _insert(data: bytes, at: int, choice: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + SHREDS[choice % len(SHREDS)] + data[at:]


def _overwrite(data: bytes, at: int, choice: int) -> bytes:
    at %= len(data) + 1
    shred = SHREDS[choice % len(SHREDS)]
    return data[:at] + shred + data[at + len(shred) :]


def _repeat(data: bytes, at: int, choice: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + data[at : at + 64] * (2 + choice * 8) + data[at:]


def _number(data: bytes, at: int, choice: int) -> bytes:
    digits = b"0123456789"
    at %= len(data) or 1
    begin = next((n for n in range(at, len(data)) if data[n] in digits), None)
    if begin is None:
        return _overwrite(data, at, choice)
    end = begin
    while end < len(data) and data[end] in digits:
        end += 1
    number = repr(NUMBERS[choice % len(NUMBERS)]).encode()
    return data[:begin] + number + data[end:]


def _nest(data: bytes, at: int, choice: int) -> bytes:
    depth = DEPTHS[choice % len(DEPTHS)]
    left, right = OPENERS[choice // len(DEPTHS) % len(OPENERS)]
    depth = min(depth, LONGEST // (len(left) + len(right)))
    if choice % 2:
        return left * depth + data + right * depth
    at %= len(data) + 1
    return data[:at] + left * depth + right * depth + data[at:]


def _json(data: bytes, at: int, choice: int) -> bytes:
    """Put another value in the place of one of a part that is JSON."""
    parts = data.split(SEPARATOR)
    known = [(n, _load(part)) for n, part in enumerate(parts)]
    known = [(n, value) for n, value in known if value is not None]
    if not known:
        return _number(data, at, choice)
    number, value = known[at % len(known)]
    places = list(_places(value))
    if not places:
        new = VALUES[choice % len(VALUES)]
        parts[number] = json.dumps(new).encode()
        return SEPARATOR.join(parts)
    inside, key = places[at // len(known) % len(places)]
    if choice % 16 == 0:
        del inside[key]
    elif choice % 16 == 1 and isinstance(inside, dict):
        inside[TEXTS[at % len(TEXTS)]] = inside.pop(key)
    else:
        inside[key] = VALUES[choice % len(VALUES)]
    parts[number] = json.dumps(value).encode()
    return SEPARATOR.join(parts)


def _load(part: bytes) -> Any:
    try:
        return json.loads(part)
    except (ValueError, RecursionError):
        return None


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a value: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 5000:
        inside = waiting.pop()
        if isinstance(inside, dict | list):
            keys = inside if isinstance(inside, dict) else range(len(inside))
            found += [(inside, key) for key in keys]
            waiting += [inside[key] for key in keys]
    return found


CHANGES: tuple[Change, ...] = (
    *(_json, _json, _json, _number, _insert, _overwrite),
    *(_flip, _cut, _repeat, _nest),
)
"""What can be done to an example; what finds most comes more often."""

_ANY = st.integers(0, 2**16 - 1)

_JSON = st.recursive(
    st.sampled_from(VALUES) | st.text(max_size=10) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def _changed(draw: st.DrawFn, corpus: Sequence[bytes]) -> bytes:
    data = draw(st.sampled_from(corpus))
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 9)) == 9:
            other, at = draw(st.sampled_from(corpus)), draw(_ANY)
            data = data[: at % (len(data) + 1)] + other[at % len(other) :]
        else:
            change = draw(st.sampled_from(CHANGES))
            data = change(data, draw(_ANY), draw(_ANY))
        data = data[:LONGEST]
    return data


def _join(parts: Sequence[bytes]) -> bytes:
    return SEPARATOR.join(parts)


def inputs(corpus: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Return hostile inputs.

    Parameters
    ----------
    corpus
        Valid examples, and what failed once.
    """
    shaped = st.lists(
        _JSON.map(lambda value: json.dumps(value).encode()),
        min_size=1,
        max_size=3,
    ).map(_join)
    wild = st.lists(st.binary(max_size=200), min_size=1, max_size=2).map(_join)
    changed = _changed(corpus)
    # `one_of` chooses evenly: most inputs must get past the first check.
    return st.one_of(changed, changed, changed, changed, shaped, wild)
