"""Arrays and plain values as bytes, exactly: the content of messages between processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np


class _Array(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class _Message(msgspec.Struct, frozen=True, array_like=True):
    plain: dict[str, Any]
    arrays: dict[str, _Array]


def pack(values: Mapping[str, Any]) -> bytes:
    """Return named values as bytes: arrays of numbers, and what JSON knows (no integers beyond 64 bits).

    Raises TypeError for other values, also for arrays of objects.
    """
    plain, arrays = {}, {}
    for name, value in values.items():
        if not isinstance(value, np.ndarray):
            plain[name] = value.item() if isinstance(value, np.generic) else value
        elif value.dtype.hasobject:
            raise TypeError(f"`{name}` is an array of objects")
        else:
            arrays[name] = _Array(value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes())
    return msgspec.msgpack.encode(_Message(plain, arrays))


def unpack(data: bytes) -> dict[str, Any]:
    """Return the values of `pack`; arrays are writable. Raises msgspec.DecodeError for other bytes."""
    message = msgspec.msgpack.decode(data, type=_Message)
    arrays = {
        name: np.frombuffer(array.data, dtype=array.dtype).reshape(array.shape).copy()
        for name, array in message.arrays.items()
    }
    return message.plain | arrays
