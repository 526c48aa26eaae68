"""Values by name; some are made when they are first read."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

T = TypeVar("T")


class OnDemand(dict[str, T]):
    """A dictionary with values that are there, and others that are made when they are first read.

    Whoever asks for all of them has all of them made, except by `|` and `copy`: what waits waits there too.
    """

    def __init__(self, made: Mapping[str, T], waiting: Mapping[str, Callable[[], T]]) -> None:
        known, others = (made.made(), made.waiting()) if isinstance(made, OnDemand) else (made, {})
        super().__init__(known)
        self._waiting: dict[str, Callable[[], T]] = {**others, **waiting}

    def waiting(self) -> dict[str, Callable[[], T]]:
        """Return what makes each of the others."""
        return {name: make for name, make in self._waiting.items() if not dict.__contains__(self, name)}

    def made(self) -> dict[str, T]:
        """Return what has been made so far."""
        return {name: dict.__getitem__(self, name) for name in dict.__iter__(self)}

    def waits(self, name: str) -> bool:
        """Whether something has not been made yet."""
        return name in self._waiting and not dict.__contains__(self, name)

    def __missing__(self, name: str) -> T:
        self[name] = self._waiting[name]()  # KeyError of what is unknown
        return dict.__getitem__(self, name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self._waiting

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __or__(self, other: Mapping[str, T]) -> OnDemand[T]:  # type: ignore[override]
        return OnDemand({**self.made(), **other}, self.waiting())

    def copy(self) -> OnDemand[T]:
        return OnDemand(self, {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return self._all().keys()

    def values(self) -> ValuesView[T]:  # type: ignore[override]
        return self._all().values()

    def items(self) -> ItemsView[str, T]:  # type: ignore[override]
        return self._all().items()

    def __reduce__(self) -> tuple[type[dict[str, T]], tuple[dict[str, T]]]:
        return dict, (self._all(),)

    def _all(self) -> dict[str, T]:
        for name in self._waiting:
            self[name]
        return self.made()


def waits_for(values: Mapping[str, T], name: str) -> bool:
    """Whether a value has not been made yet."""
    return isinstance(values, OnDemand) and values.waits(name)
