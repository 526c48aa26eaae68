"""The values of parameters of jobs that a policy keeps from one plan to the next (`remember`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.compiling.data.slicing import InstanceView, KnownValues
from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.ir.domains import Domain
from gpusched_dsl.online.data.base import Base


@dataclass(eq=False)
class PolicyMemory:
    """By parameter an array over all jobs of the run, NaN where nothing is remembered."""

    values: dict[str, Floats] = field(default_factory=dict)

    def store(self, remembered: Mapping[str, VariableValues], jobs: int) -> None:
        """Store values of some of the `jobs` of the run, in codes of the run."""
        for name, new in remembered.items():
            if name not in self.values:
                self.values[name] = np.full(jobs, np.nan)
            self.values[name][new.codes[0]] = new.values

    def carried_values(self, base: Base, part: InstanceView) -> dict[str, KnownValues]:
        """Return the parameters for a part of the run: input values where nothing is remembered."""
        return {name: KnownValues(self._values_of(name, base, part)) for name in self.values}

    def _values_of(self, name: str, base: Base, part: InstanceView) -> Callable[[Domain], Floats]:
        def evaluate(domain: Domain) -> Floats:
            [codes] = part.outer_codes(domain.components, domain.columns())
            param = base.store.params[name]
            remembered = self.values[name][codes]
            return np.where(np.isnan(remembered), param.values[param.domain.locate((codes,))], remembered)

        return evaluate

    def add_jobs(self, count: int) -> None:
        """Append jobs of which nothing is remembered."""
        for name, values in self.values.items():
            self.values[name] = np.append(values, np.full(count, np.nan))

    def keep_jobs(self, kept: Ints) -> None:
        """Forget what is remembered of all other jobs."""
        self.values = {name: values[kept] for name, values in self.values.items()}

    def copy(self) -> PolicyMemory:
        return PolicyMemory({name: values.copy() for name, values in self.values.items()})
