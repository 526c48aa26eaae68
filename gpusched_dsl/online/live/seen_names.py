"""A set of names that only grows: 8 bytes for each, so that a run can know all names of years."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_RECENT = 1024  # digests that wait to be sorted in


class SeenNames:
    """Knows names by digests of 64 bits: of n names, another one is taken for known with probability n / 2^64."""

    def __init__(self, names: Iterable[str | int] = ()) -> None:
        self._sorted: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._recent: set[int] = set()
        for name in names:
            self.add(name)

    def add(self, name: str | int) -> None:
        self._recent.add(_digest(name))
        if len(self._recent) >= _RECENT:
            recent = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
            self._sorted, self._recent = np.union1d(self._sorted, recent), set()

    def union(self, names: Iterable[str | int]) -> SeenNames:
        """Return these names and others; this set does not change."""
        other = SeenNames()
        other._sorted, other._recent = self._sorted, set(self._recent)
        for name in names:
            other.add(name)
        return other

    def __contains__(self, name: object) -> bool:
        digest = _digest(name)
        if digest in self._recent:
            return True
        at = int(np.searchsorted(self._sorted, np.uint64(digest)))
        return at < len(self._sorted) and int(self._sorted[at]) == digest


def _digest(name: object) -> int:
    kind = "i" if isinstance(name, int) else "s"
    return int.from_bytes(blake2b(f"{kind}{name}".encode(errors="surrogatepass"), digest_size=8).digest(), "little")
