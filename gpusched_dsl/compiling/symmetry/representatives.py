"""A model rewritten so that one element of every class stands for all: what is grounded no longer grows with the set.

    sum[n in Nodes] f(n)                      ->   sum[n in Representatives] members[n] * f(n)
    constraint c[n in Nodes], var x[n in Nodes]  ->   c[n in Representatives], x[n in Representatives]

Where f(n) is linear in decisions of n, the column of a representative then stands for the mean over its class in rows
that no element indexes, and constants are added up over the whole class. A row of an element may read other elements
only by way of an index that is set equal to its own; else elements are coupled, which is an `Obstacle`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from gpusched_dsl.compiling.symmetry.generic import Obstacle
from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedLet,
    CheckedModel,
    Comparison,
    Core,
    Element,
    IndexingCore,
    IndexRef,
    IndexVar,
    LetRef,
    Membership,
    NamedSet,
    Numeric,
    ParamRef,
    Reduction,
    SetCore,
)
from gpusched_dsl.language.source import Span

# Names that no author can write.
REPRESENTATIVES, MEMBERS = "(representatives)", "(members)"

Scope = frozenset[IndexVar]


class Representing:
    """Rewrites the declarations of one model for one of its sets."""

    def __init__(self, model: CheckedModel, root: str) -> None:
        self.model = model
        self.root = root
        self.lets: dict[str, CheckedLet] = {}
        self._sums: dict[str, Span | None] = {}  # where a let sums over elements that none of its indices names

    def run(self) -> CheckedModel:
        """The rewritten model; raises Obstacle."""
        model = self.model
        variables = {
            name: replace(v, indexing=self._index_list(v.indexing, v.span)) for name, v in model.variables.items()
        }
        constraints = {}
        for name, constraint in model.constraints.items():
            own = self._own(constraint.indexing)
            constraints[name] = replace(
                constraint,
                indexing=self._index_list(constraint.indexing, constraint.span),
                body=self._core(constraint.body, own),
            )
        objectives = tuple(
            replace(o, terms=tuple(replace(t, value=self._core(t.value, frozenset())) for t in o.terms))
            for o in model.objectives
        )
        return replace(
            model,
            variables=variables,
            constraints=constraints,
            objectives=objectives,
            lets={**model.lets, **self.lets},
        )

    # --- indices -----------------------------------------------------------------------------------------------------

    def _own(self, indexing: IndexingCore) -> Scope:
        return frozenset(v for v in indexing.variables if self._is_ours(v))

    def _is_ours(self, variable: IndexVar) -> bool:
        return isinstance(variable.type, Element) and variable.type.root == self.root

    def _index_list(self, indexing: IndexingCore, span: Span) -> IndexingCore:
        """The index list of a variable or constraint, over representatives only."""
        own = self._own(indexing)
        if len(own) > 1:
            raise Obstacle(f"two elements of `{self.root}` index it", span)
        return self._restricted(indexing, own)

    def _restricted(self, indexing: IndexingCore, variables: Scope) -> IndexingCore:
        iterators = []
        conditions = list(indexing.conditions)
        for iterator in indexing.iterators:
            ours = [v for v in iterator.variables if v in variables]
            whole = isinstance(iterator.domain, NamedSet) and iterator.domain.name == self.root
            if ours and whole:
                named = NamedSet(span=iterator.domain.span, types=iterator.domain.types, name=REPRESENTATIVES)
                iterator = replace(iterator, domain=named)
            elif ours:
                conditions += [self._is_representative(v) for v in ours]
            iterators.append(iterator)
        return IndexingCore(tuple(iterators), tuple(conditions))

    def _is_representative(self, variable: IndexVar) -> Core:
        element = IndexRef(span=variable.span, type=variable.type, variable=variable)
        named = NamedSet(span=variable.span, types=(variable.type,), name=REPRESENTATIVES)
        return Membership(span=variable.span, type=Numeric(), element=(element,), domain=named)

    # --- expressions -------------------------------------------------------------------------------------------------

    def _core(self, node: Any, scope: Scope) -> Any:
        """A node with its sums over elements rewritten; `scope` holds the elements that are chosen around it."""
        if isinstance(node, tuple):
            return tuple(self._core(part, scope) for part in node)
        if not isinstance(node, Core) or not node.decision:
            return node
        if isinstance(node, Reduction):
            return self._reduction(node, scope)
        if isinstance(node, LetRef):
            self._let(node.name)
            if scope and node.name in self._sums:
                raise self._coupled(node.span)
            return node
        changed = {
            f.name: self._core(getattr(node, f.name), scope)
            for f in dataclasses.fields(node)
            if f.name not in ("span", "type", "decision") and isinstance(getattr(node, f.name), Core | tuple)
        }
        return replace(node, **changed) if changed else node

    def _reduction(self, node: Reduction, scope: Scope) -> Core:
        own = self._own(node.indexing)
        free = frozenset(v for v in own if not self._is_chosen(v, node.indexing, scope))
        if not free:
            return replace(node, body=self._core(node.body, scope | own))
        if node.op != "sum":
            raise Obstacle(f"`{node.op}` over elements of `{self.root}` is no sum", node.span)
        if scope:
            raise self._coupled(node.span)
        if len(own) > 1:
            raise Obstacle(f"a sum over pairs of elements of `{self.root}`", node.span)
        (variable,) = free
        self._summed_at = node.span
        index = IndexRef(span=variable.span, type=variable.type, variable=variable)
        members = ParamRef(span=node.span, type=Numeric(), name=MEMBERS, subscripts=(index,))
        body = self._core(node.body, scope | own)
        weighted = Arithmetic(span=node.span, type=node.type, decision=True, op="*", left=members, right=body)
        return replace(node, indexing=self._restricted(node.indexing, free), body=weighted)

    def _is_chosen(self, variable: IndexVar, indexing: IndexingCore, scope: Scope) -> bool:
        """Whether a condition sets the variable equal to an element that is chosen already."""
        for condition in indexing.conditions:
            if isinstance(condition, Comparison) and condition.ops == ("==",):
                sides = [o.variable for o in condition.operands if isinstance(o, IndexRef)]
                if len(sides) == 2 and variable in sides and any(s in scope for s in sides):
                    return True
        return False

    _summed_at: Span | None = None

    def _let(self, name: str) -> None:
        if name in self.lets:
            return
        let = self.model.lets[name]
        self.lets[name] = let
        before, self._summed_at = self._summed_at, None
        own = self._own(let.indexing)
        self.lets[name] = replace(let, value=self._core(let.value, own))
        if self._summed_at is not None:
            self._sums[name] = self._summed_at
        self._summed_at = self._summed_at or before
        for inner in _lets_in(let.value):
            if inner in self._sums:
                self._sums.setdefault(name, self._sums[inner])
                self._summed_at = self._summed_at or self._sums[inner]

    def _coupled(self, span: Span) -> Obstacle:
        return Obstacle(f"what belongs to one element of `{self.root}` also adds up over all of them", span)


def _lets_in(node: object) -> set[str]:
    from gpusched_dsl.compiling.symmetry.generic import parts

    found = {node.name} if isinstance(node, LetRef) else set()
    if isinstance(node, tuple | Core | SetCore | IndexingCore):
        for part in parts(node):
            found |= _lets_in(part)
    return found
