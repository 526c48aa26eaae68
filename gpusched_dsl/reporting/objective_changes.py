"""The change of the objectives from one result to the next, by term."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpusched_dsl.language.text.numbers import number_text, with_unit
from gpusched_dsl.reporting.result import Result

ROUNDING = 1e-9  # relative: differences below it are shown as no change


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value of an objective or of a term; `before` is None if the earlier result has none, likewise `after`.

    `is_objective` is true for the sum of the terms.
    """

    name: str
    unit: str
    before: float | None
    after: float | None
    is_objective: bool

    @property
    def difference(self) -> float | None:
        """The change; None if one of the values is missing, 0 for a rounding error."""
        if self.before is None or self.after is None:
            return None
        change = self.after - self.before
        return 0.0 if abs(change) <= ROUNDING * max(abs(self.before), abs(self.after)) else change

    @property
    def text(self) -> str:
        """The value with its unit."""
        return "-" if self.after is None else self._with_unit(number_text(self.after))

    @property
    def change_text(self) -> str:
        """`+2 $`, "" for no change; `new` and `gone` if a value is missing."""
        if self.difference is None:
            return "" if self.before is None and self.after is None else "new" if self.before is None else "gone"
        if self.difference == 0:
            return ""
        sign = "+" if self.difference > 0 else "-"
        return sign + self._with_unit(number_text(abs(self.difference)))

    def _with_unit(self, text: str) -> str:
        return with_unit(text, "" if self.unit == "1" else self.unit)


def objective_changes(before: Result | None, after: Result) -> list[ValueChange]:
    """Return the values of a result in its order, then those that only the earlier result has."""
    old = {} if before is None else dict(_values(before))
    new = dict(_values(after))
    keys = [*new, *(key for key in old if key not in new)]
    return [
        ValueChange(
            key[1] or key[0],
            (new.get(key) or old[key])[0],
            old[key][1] if key in old else None,
            new[key][1] if key in new else None,
            not key[1],
        )
        for key in keys
    ]


def _values(result: Result) -> Iterator[tuple[tuple[str, str], tuple[str, float | None]]]:
    """The unit and value of each objective, by its name and "", and of each of its terms."""
    for number, objective in enumerate(result.objectives):
        name = objective.name or ("objective" if number == 0 else f"objective {number + 1}")
        yield (name, ""), (objective.unit, objective.value)
        for term in objective.terms:
            if term.name is not None:
                yield (name, term.name), (objective.unit, term.value)
