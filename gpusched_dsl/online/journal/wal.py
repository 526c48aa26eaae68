"""Whether SQLite's write-ahead log lost transactions that were durable.

SQLite reads its log up to the first frame whose checksum is wrong and takes all before it. That is right after a crash,
which can only tear the last transaction, since each is flushed before the next begins; after damage in the middle it
drops durable transactions in silence. So frames that follow the transaction of the first wrong frame mean damage.
Format of the log: https://sqlite.org/fileformat2.html#walformat
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_HEADER, _FRAME = 32, 24  # bytes
_MAGIC = 0x377F0682  # with 1 added where checksums are over big-endian words


def lost_frames(log: Path) -> tuple[str, int] | None:
    """How damage shows and how many frames before it are whole; None where the log is whole or only its end is torn."""
    try:
        data = log.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) <= _HEADER:
        return None  # a crash while the log was begun: it held nothing
    head = np.frombuffer(data[:_HEADER], dtype=">u4")
    magic, page = int(head[0]), int(head[2])
    order = ">u4" if magic & 1 else "<u4"
    if magic & ~1 != _MAGIC or _checksum(np.frombuffer(data[:24], dtype=order), (0, 0)) != (int(head[6]), int(head[7])):
        return "the beginning of its log is wrong", 0
    frames = (len(data) - _HEADER) // (_FRAME + page)
    table = np.frombuffer(data, dtype=np.uint8, count=frames * (_FRAME + page), offset=_HEADER)
    table = table.reshape(frames, _FRAME + page)
    fields = np.ascontiguousarray(table[:, :_FRAME]).view(">u4")
    ours = (fields[:, 2] == head[4]) & (fields[:, 3] == head[5])  # frames left from before have other salts
    whole = _whole(table, fields, ours, order, (int(head[6]), int(head[7])))
    later = np.flatnonzero(ours & (np.arange(frames) >= whole))
    ends = later[fields[later, 1] != 0]
    if len(ends) and later[-1] > ends[0]:
        return "its log is wrong in the middle", whole
    return None


def _whole(
    table: NDArray[np.uint8], fields: NDArray[np.uint32], ours: NDArray[np.bool_], order: str, sums: tuple[int, int]
) -> int:
    """How many frames from the beginning have the right checksum."""
    for at in range(len(table)):
        if not ours[at]:
            return at
        covered = np.concatenate([table[at, :8], table[at, _FRAME:]]).view(order)
        sums = _checksum(covered, sums)
        if sums != (int(fields[at, 4]), int(fields[at, 5])):
            return at
    return len(table)


def _checksum(words: NDArray[np.uint32], start: tuple[int, int]) -> tuple[int, int]:
    """SQLite's s0 += x[2i] + s1, s1 += x[2i+1] + s0 (mod 2^32), as one sum with Fibonacci weights.

    With s = (s0, s1) one round is s -> M (s0 + x[2i], s1) + (0, x[2i+1]) for M = [[1, 1], [1, 2]], and the entries of
    M^k are the Fibonacci numbers F(2k-1), F(2k), F(2k+1).
    """
    rounds = len(words) // 2
    odd, even, last = _fibonacci(rounds)
    x, y = words[0::2].astype(np.uint32), words[1::2].astype(np.uint32)
    # The x of round i goes through M another k = rounds-i times, its y one time fewer.
    top = int(odd[:-1] @ x) + int(even[1:] @ y) + int(odd[0]) * start[0] + int(even[0]) * start[1]
    low = int(even[:-1] @ x) + int(odd[:-1] @ y) + int(even[0]) * start[0] + last * start[1]
    return top & 0xFFFFFFFF, low & 0xFFFFFFFF


@lru_cache(maxsize=8)
def _fibonacci(rounds: int) -> tuple[Words, Words, int]:
    """F(2k-1) and F(2k) for k = rounds, ..., 0, and F(2 rounds + 1), modulo 2^32."""
    odd, even = [1], [0]
    for _ in range(rounds):
        odd.append((odd[-1] + even[-1]) & 0xFFFFFFFF)
        even.append((even[-1] + odd[-1]) & 0xFFFFFFFF)
    last = (odd[-1] + even[-1]) & 0xFFFFFFFF
    return np.array(odd[::-1], dtype=np.uint32), np.array(even[::-1], dtype=np.uint32), last
