"""The state of a run that events and plans change, saved so that the loop can go back to it.

Arrays that are changed in place are copied. Lists that only grow are cut back to their length, so that saving a state
takes the same time however long the run is.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from gpusched_dsl.online.data.policy_memory import PolicyMemory
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.run_diagnostics import RunDiagnostics
from gpusched_dsl.online.simulation.ledger import Ledger
from gpusched_dsl.online.simulation.node_availability import NodeAvailability
from gpusched_dsl.online.simulation.world import World


class LoopState:
    """The current state of a loop. `restore` can be called more than once."""

    def __init__(self, loop: SimulationLoop) -> None:
        self._values = {name: _save(value) for name, value in vars(loop).items()}

    def restore(self, loop: SimulationLoop) -> None:
        for name in vars(loop).keys() - self._values.keys():
            delattr(loop, name)
        for name, saved in self._values.items():
            setattr(loop, name, saved.value())


class _Saved:
    """A value that nothing changes in place."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def value(self) -> Any:
        return self._value


class _Array(_Saved):
    def __init__(self, value: Any) -> None:
        super().__init__(value.copy())

    def value(self) -> Any:
        return self._value.copy()


class _GrowingList(_Saved):
    """A list that is only appended to."""

    def __init__(self, value: list[Any]) -> None:
        super().__init__(value)
        self._length = len(value)

    def value(self) -> Any:
        del self._value[self._length :]
        return self._value


class _Mapping(_Saved):
    def __init__(self, value: dict[Any, Any]) -> None:
        super().__init__({key: _save(one) for key, one in value.items()})

    def value(self) -> Any:
        return {key: saved.value() for key, saved in self._value.items()}


class _Object(_Saved):
    """An object with all attributes saved."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._attributes = {name: _save(one) for name, one in vars(value).items()}

    def value(self) -> Any:
        other = copy(self._value)
        for name, saved in self._attributes.items():
            setattr(other, name, saved.value())
        return other


def _save(value: Any) -> _Saved:
    if isinstance(value, np.ndarray):
        return _Array(value)
    if isinstance(value, list):
        return _GrowingList(value)
    if isinstance(value, dict):
        return _Mapping(value)
    if isinstance(value, World | Ledger | NodeAvailability | PolicyMemory | RunDiagnostics):
        return _Object(value)
    return _Saved(value)
