"""Bytes that differ, and that xxHash64 takes for the same."""

__all__ = ["LONG", "cancelled"]

_PRIMES = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
"""Of xxHash64."""

LONG = bytes(range(64))
"""Two stripes of four words each: the shortest value that can be altered so.
What is in its first word matters to none of it."""


def cancelled(value: bytes, sign: int) -> bytes:
    """Alter two words so that xxHash64 does not change, whatever its seed,
    but for the top bit of one sum: on that the sign depends.

    A round is `rotate(state + word * P2, 31) * P1`. The top bit of a word
    changes what is rotated by 2^63, so the state by P1 * 2^30, up or down; a
    word of the next stripe takes that back.
    """
    words = [
        int.from_bytes(value[n : n + 8], "little")
        for n in range(0, len(value), 8)
    ]
    words[0] ^= 2**63
    change = sign * 2**30 * _PRIMES[0] * pow(_PRIMES[1], -1, 2**64)
    words[4] = (words[4] - change) % 2**64
    return b"".join(word.to_bytes(8, "little") for word in words)
