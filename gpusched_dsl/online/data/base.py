"""All data of a run, read once: every plan uses a part of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.data.instance import Instance, build_instance
from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues, LawSlice, ParamSlice, Ready, SetSlice
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.ir.arrays import Codes
from gpusched_dsl.ir.domains import Component
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.online.data.lasting_checks import lasting_checks
from gpusched_dsl.online.data.row_memory import RowMemory

EVERYTHING: Mapping[str, Codes] = {}


@dataclass(frozen=True, eq=False)
class Base:
    """An instance with all jobs, nodes and slots. Codes of the run are codes of its universes."""

    instance: Instance
    limits: MemoryLimits

    @property
    def model(self) -> CheckedModel:
        return self.instance.scenario.model

    @property
    def store(self) -> ValueStore:
        return self.instance.store

    @cached_property
    def input_names(self) -> frozenset[str]:
        """Return given values of the scenario, or their replacements: derived values are recomputed for every plan."""
        names = {name for name, givens in self.instance.scenario.assignments.items() if givens}
        names |= self.instance.made_of.replaced.keys()
        roots = {name for name, declared in self.model.sets.items() if declared.root == name}
        return frozenset(name for name in self.model.data_order if name in names or name in roots)

    def all_codes(self, root: str) -> Codes:
        """The codes of all elements of a root set."""
        return np.arange(len(self.store.universes[root].labels), dtype=np.int64)

    def labels(self, root: str, codes: Codes) -> list[str | int]:
        found: list[str | int] = self.store.universes[root].label_array[codes].tolist() if len(codes) else []
        return found

    def part(self, kept: Mapping[str, Codes]) -> InstanceView:
        """Return a part with some elements of some root sets, and all elements of the others; codes are sorted."""
        kept = {root: np.sort(codes) for root, codes in kept.items()}
        self._latest_part[:] = [InstanceView(self.store.universes, kept, earlier=next(iter(self._latest_part), None))]
        return self._latest_part[0]

    @cached_property
    def _latest_part(self) -> list[InstanceView]:
        """Return the latest part: root sets with the same elements are not cut again."""
        return []

    def instance_of(
        self, part: InstanceView, carried: Mapping[str, KnownValues], earlier: Instance | None = None
    ) -> Instance:
        """The instance of a part, with carried values in place of given ones.

        Raises DiagnosticError where carried values break the bounds or checks of the model, as `build_instance` does.
        """
        ready = {name: self._slice(name, part) for name in self.model.data_order if name in self.input_names}
        memory = self._row_memory(frozenset(carried), frozenset(part.kept)).in_part(part)
        ready.update(memory.compared(carried))
        return build_instance(
            self._bare,
            folder=self.instance.reader.folder,
            limits=self.limits,
            reader=self.instance.reader,
            earlier=earlier,
            ready=ready,
            fulfilled=self._lasting_checks(frozenset(carried), frozenset(part.kept)),
            kept_rows=memory,
            on_demand=True,
        )

    def _row_memory(self, carried: frozenset[str], roots: frozenset[str]) -> RowMemory:
        key = carried, roots
        if key not in self._memories:
            self._memories[key] = RowMemory(self.model, self.store, self.limits, self.input_names, carried, roots)
        return self._memories[key]

    @cached_property
    def _memories(self) -> dict[tuple[frozenset[str], frozenset[str]], RowMemory]:
        return {}

    def _lasting_checks(self, carried: frozenset[str], roots: frozenset[str]) -> frozenset[int]:
        key = carried, roots
        if key not in self._checks:
            self._checks[key] = lasting_checks(self.model, self.input_names, carried, roots)
        return self._checks[key]

    @cached_property
    def _checks(self) -> dict[tuple[frozenset[str], frozenset[str]], frozenset[int]]:
        return {}

    def given(self, name: str, part: InstanceView) -> Ready:
        """The given values of a set or parameter in a part."""
        return self._slice(name, part)

    @cached_property
    def _bare(self) -> CheckedScenario:
        return structs.replace(self.instance.scenario, assignments={})

    @cached_property
    def _full_values(self) -> dict[str, Ready]:
        """Return one object for all plans of values that no part cuts: derived values are computed once."""
        return {}

    @cached_property
    def _slices(self) -> dict[str, tuple[tuple[Component, ...], Ready]]:
        """Return values cut by the latest part, with its components: the same object while these are equal."""
        return {}

    def _slice(self, name: str, part: InstanceView) -> Ready:
        store, model = self.store, self.model
        if name in model.sets:
            declared = model.sets[name]
            if declared.root == name:
                return part.small.get(name, store.universes[name])
            components = store.sets[name].components
            slice_: Ready = SetSlice(store.sets[name], part)
        elif name in model.params:
            param = store.params[name]
            components = param.domain.components
            slice_ = ParamSlice(model.params[name], param, part)
            kind = getattr(model.params[name].type, "root", None)
            if kind is not None:
                components = (*components, store.universes[kind])
        else:
            components = store.randoms[name].domain.components
            slice_ = LawSlice(store.randoms[name], part)
        if not part.is_restricted(components):
            return self._full_values.setdefault(name, slice_)
        left = tuple(map(part.component, components))
        known = self._slices.get(name)
        if known is None or any(ours is not before for ours, before in zip(left, known[0], strict=True)):
            known = self._slices[name] = (left, slice_)
        return known[1]
