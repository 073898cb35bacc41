"""What is kept of the mirror's internal topics can be read."""

import struct

from .internals import to_words


def test_an_offset_sync_is_its_partition_and_both_offsets() -> None:
    key = b"\x00\x03a.b" + struct.pack(">i", 7)
    assert to_words(key, struct.pack(">qq", 5, 6)) == ["a.b-7", 5, 6]


def test_a_record_of_connect_is_its_text() -> None:
    key, value = b'["name",{"partition":0}]', b'{"offset":5}'
    assert to_words(key, value) == [key.decode(), value.decode()]


def test_bytes_of_neither_are_kept_as_they_are() -> None:
    assert to_words(b"\x00\x09\xff", b"\xfe") == ["\0\t\\xff", "\\xfe"]
    assert to_words(b"k", None) == ["k", None]
