"""Records of a journal as bytes, each chained to the one before it by a digest.

The digest of a record covers the digest of the record before, its number and its content, so a record that was changed,
or one that is lost from the middle, breaks the chain from there on. It is no signature: it finds damage, not forgery.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

Json = Any  # what JSON can say: dict, list, str, int, float, bool, None

WORTH_PACKING = 512  # bytes below which compression gains nothing
MOST_EXPANDED = 1 << 30  # bytes: no step of ours is near it, so what expands further was not written by us


class DamagedRecord(Exception):
    """A record differs from its written content; the text has the evidence."""


def encode(value: Json) -> bytes:
    """Return `value` as JSON in UTF-8; raise ValueError for NaN and infinities, TypeError for unsupported types."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
    return text.encode("utf-8")


def normalise_json(value: Json) -> Json:
    """`value` as it will be read from the journal: tuples as lists, keys as texts."""
    return json.loads(encode(value))


def pack(value: Json) -> bytes:
    """Return the stored form: the JSON text, compressed if that is smaller."""
    plain = encode(value)
    if len(plain) < WORTH_PACKING:
        return plain
    squeezed = zlib.compress(plain, 1)  # level 6 saves 15 % more and takes twice as long
    return squeezed if len(squeezed) < len(plain) else plain


def unpack(content: bytes) -> Json:
    """The value of a stored content; raises `DamagedRecord`."""
    try:
        plain = content if content[:1] != b"\x78" else _decompress(content)
        return json.loads(plain)
    except (zlib.error, ValueError, RecursionError) as failure:
        raise DamagedRecord(f"a record cannot be read ({failure})") from failure


def _decompress(content: bytes) -> bytes:
    expander = zlib.decompressobj()
    plain = expander.decompress(content, MOST_EXPANDED)
    if not expander.eof or expander.unused_data:
        raise DamagedRecord("a compressed record is incomplete")
    return plain


def root(header: bytes, kind: str) -> bytes:
    """Return the digest before the first record of a `kind`: that of the stored header."""
    return hashlib.sha256(kind.encode() + b"\0" + header).digest()


def link(before: bytes, number: int, content: bytes) -> bytes:
    """The digest of record `number` after a record with the digest `before`."""
    return hashlib.sha256(before + number.to_bytes(8, "big") + content).digest()
