"""Whether the value of an expression for a waiting job is constant, for any events in the cluster.

Follows the references of the expression, through `let`s, derived parameters, defaults and derived sets. Unknown parts
count as changing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpusched_dsl.language.checked import (
    CheckedModel,
    ComprehensionSet,
    Element,
    Expected,
    KnownValue,
    LetRef,
    Membership,
    NamedSet,
    ParamRef,
    RandomRef,
    SetOperation,
    Shift,
    SliceSet,
    StringLiteral,
    TypedIndexing,
    TypedSet,
    VariableRef,
)
from gpusched_dsl.language.checked_policy import NOW
from gpusched_dsl.language.checking.walk import Part, children


class Constancy:
    """The quantities that change while a job waits: `carried` parameters, the time, and the other present jobs.

    `jobs` is the root set of the jobs; `own_clock`: `now` is the time of the policy, not a name of the model.
    """

    def __init__(self, model: CheckedModel, jobs: str, carried: Collection[str], own_clock: bool) -> None:
        self.model, self.jobs, self.carried, self.own_clock = model, jobs, carried, own_clock
        self._changes_by_name: dict[str, str | None] = {}

    def change_in(self, part: Part) -> str | None:
        """Return the first part that may change, as text; None if nothing does."""
        return next(self._changes(part), None)

    def change_in_listed(self, indexing: TypedIndexing) -> str | None:
        """Return the same for an index list with a first iterator that may range over the jobs, one row for each."""
        return next(self._changes_listed(indexing), None)

    def _changes(self, part: Part) -> Iterator[str]:
        match part:
            case VariableRef():
                yield f"every plan decides `{part.name}` again"
            case KnownValue() | RandomRef() | Expected():
                yield f"`{part.span.text}` may change"
            case LetRef() if part.name == NOW and self.own_clock:
                yield "the time changes"
            case LetRef():
                yield from self._changes_in_declaration(part.name)
            case ParamRef() if isinstance(part.type, Element) and part.type.root == self.jobs:
                yield f"the job `{part.span.text}` is not always present"
            case ParamRef():
                yield from self._changes_in_declaration(part.name)
            case Shift() if part.ordering == self.jobs:
                yield "the neighbours of a job depend on the present jobs"
            case StringLiteral() if isinstance(part.type, Element) and part.type.root == self.jobs:
                yield f"the job `{part.text}` is not always present"
            case Membership():
                for element in part.element:
                    yield from self._changes(element)
                yield from self._membership_changes(part.domain)
                return
            case SliceSet() if not self._jobs_in(part):  # of a job's own elements
                yield from self._membership_changes(part)
                return
            case TypedSet() if self._jobs_in(part):
                yield f"`{part.span.text}` depends on the present jobs"
            case NamedSet():
                yield from self._membership_changes(part)
        for inner in children(part):
            yield from self._changes(inner)

    def _changes_listed(self, indexing: TypedIndexing) -> Iterator[str]:
        for iterator in indexing.iterators:
            yield from self._membership_changes(iterator.domain)
        for condition in indexing.conditions:
            yield from self._changes(condition)

    def _changes_in_declaration(self, name: str) -> Iterator[str]:
        """Return changes in the value of a parameter or `let`; examine it once."""
        if name in self.carried:
            yield f"`{name}` is carried from plan to plan"
            return
        if name not in self._changes_by_name:
            self._changes_by_name[name] = None  # during the examination
            self._changes_by_name[name] = next(self._examine_declaration(name), None)
        found = self._changes_by_name[name]
        if found is not None:
            yield found

    def _examine_declaration(self, name: str) -> Iterator[str]:
        param = self.model.params.get(name)
        let = self.model.lets.get(name)
        if param is not None:
            for expr in (param.value, param.default):
                if expr is not None:
                    yield from self._changes(expr)
            yield from self._changes_listed(param.indexing)
        elif let is not None:
            yield from self._changes(let.value)
            yield from self._changes_listed(let.indexing)
        else:
            yield f"`{name}` may change"

    def _membership_changes(self, domain: TypedSet) -> Iterator[str]:
        """Return changes in the membership of a set, if each job determines only its own elements."""
        match domain:
            case NamedSet():
                declared = self.model.sets.get(domain.name)
                if declared is None:
                    yield f"`{domain.name}` may change"
                elif declared.value is not None and domain.name not in self._changes_by_name:
                    self._changes_by_name[domain.name] = None
                    self._changes_by_name[domain.name] = next(self._membership_changes(declared.value), None)
                found = self._changes_by_name.get(domain.name)
                if found is not None:
                    yield found
            case SliceSet():
                yield from self._membership_changes(domain.domain)
                for fixed in domain.fixed:
                    if fixed is not None:
                        yield from self._changes(fixed)
            case ComprehensionSet():
                over = sum(self._jobs_in(iterator.domain) for iterator in domain.indexing.iterators)
                if over > self._jobs_in(domain):
                    yield f"`{domain.span.text}` depends on the present jobs"
                yield from self._changes_listed(domain.indexing)
                for expr in domain.element:
                    yield from self._changes(expr)
            case SetOperation():
                yield from self._membership_changes(domain.left)
                yield from self._membership_changes(domain.right)
            case _:
                for part in children(domain):
                    yield from self._changes(part)

    def _jobs_in(self, domain: TypedSet) -> int:
        """Count the components of a set that are jobs."""
        return sum(isinstance(t, Element) and t.root == self.jobs for t in domain.types)
