"""The state of a run that events and plans change, kept to go back to it.

Arrays that are changed in place are copied. Lists that only grow are cut back to their length, so that keeping a state
costs the same however long the run is.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.simulation.ledger import Ledger
from gpusched_dsl.online.simulation.world import World


class LoopState:
    """A driver as it is now. `restore` can be called more than once."""

    def __init__(self, driver: SimulationLoop) -> None:
        self._values = {name: _keep(value) for name, value in vars(driver).items()}

    def restore(self, driver: SimulationLoop) -> None:
        for name in vars(driver).keys() - self._values.keys():
            delattr(driver, name)
        for name, kept in self._values.items():
            setattr(driver, name, kept.value())


class _Same:
    """A value that nothing changes in place."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def value(self) -> Any:
        return self._value


class _Array(_Same):
    def __init__(self, value: Any) -> None:
        super().__init__(value.copy())

    def value(self) -> Any:
        return self._value.copy()


class _Growing(_Same):
    """A list that is only appended to."""

    def __init__(self, value: list[Any]) -> None:
        super().__init__(value)
        self._length = len(value)

    def value(self) -> Any:
        del self._value[self._length :]
        return self._value


class _Mapping(_Same):
    def __init__(self, value: dict[Any, Any]) -> None:
        super().__init__({key: _keep(one) for key, one in value.items()})

    def value(self) -> Any:
        return {key: kept.value() for key, kept in self._value.items()}


class _Object(_Same):
    """An object with all attributes saved."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._attributes = {name: _keep(one) for name, one in vars(value).items()}

    def value(self) -> Any:
        found = copy(self._value)
        for name, kept in self._attributes.items():
            setattr(found, name, kept.value())
        return found


def _keep(value: Any) -> _Same:
    if isinstance(value, np.ndarray):
        return _Array(value)
    if isinstance(value, list):
        return _Growing(value)
    if isinstance(value, dict):
        return _Mapping(value)
    if isinstance(value, World | Ledger):
        return _Object(value)
    return _Same(value)
