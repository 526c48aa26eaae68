"""Rewrites a model so that one element of every class represents it: the grounded size is independent of the set.

    sum[n in Nodes] f(n)                      ->   sum[n in Representatives] members[n] * f(n)
    constraint c[n in Nodes], var x[n in Nodes]  ->   c[n in Representatives], x[n in Representatives]

Where f(n) is linear in decisions of n, the column of a representative then stands for the mean over its class in rows
that no element indexes, and constants are added up over the whole class. A row of an element may read other elements
only by way of an index that is set equal to its own; else elements are coupled, which is an `Obstacle`.

The mean of 0/1 columns is not 0 or 1. So such a sum may only appear where rows and objectives are linear in it. The
truth of `sum[n in Nodes] x[n] >= 2`, its square or its maximum with something is an `Obstacle` too. This is read off
the text, as grounding simplifies terms of a single binary column: it would take `members * x[n] >= 2` for a condition
on x[n].
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedLet,
    CheckedModel,
    ComparisonChain,
    Element,
    Expected,
    Fallback,
    IfThenElse,
    IndexRef,
    IndexVar,
    LetRef,
    Logic,
    Membership,
    NamedSet,
    Negate,
    Numeric,
    ParamRef,
    Reduction,
    TypedExpr,
    TypedIndexing,
    TypedSet,
    VariableRef,
    has_decided_subscripts,
)
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.shortening import shorten

# Names that no author can write.
REPRESENTATIVES, MEMBERS = "(representatives)", "(members)"

Scope = frozenset[IndexVar]


class Representing:
    """Rewrites the declarations of one model for one of its sets.

    `representatives` names the set that takes its place in sums, `members` the parameter with how many elements each
    of these stands for, None where each stands for itself alone.
    """

    def __init__(
        self, model: CheckedModel, root: str, representatives: str = REPRESENTATIVES, members: str | None = MEMBERS
    ) -> None:
        self.model = model
        self.root = root
        self.representatives, self.members = representatives, members
        self.lets: dict[str, CheckedLet] = {}
        self._sums: dict[str, Span | None] = {}  # where a let sums over elements that none of its indices names

    def run(self) -> CheckedModel:
        """The rewritten model; raises Obstacle."""
        model = self.model
        variables = {
            name: structs.replace(v, indexing=self._index_list(v.indexing, v.span))
            for name, v in model.variables.items()
        }
        constraints = {}
        for name, constraint in model.constraints.items():
            own = self._scope_of(constraint.indexing)
            constraints[name] = structs.replace(
                constraint,
                indexing=self._index_list(constraint.indexing, constraint.span),
                body=self._rewrite_assertion(constraint.body, own),
            )
        objectives = []
        for objective in model.objectives:
            terms = (structs.replace(t, value=self._rewrite(t.value, frozenset())) for t in objective.terms)
            objectives.append(structs.replace(objective, terms=tuple(terms)))
        return structs.replace(
            model,
            variables=variables,
            constraints=constraints,
            objectives=tuple(objectives),
            lets={**model.lets, **self.lets},
        )

    # --- indices -----------------------------------------------------------------------------------------------------

    def _scope_of(self, indexing: TypedIndexing) -> Scope:
        return frozenset(v for v in indexing.variables if self._is_ours(v))

    def _is_ours(self, variable: IndexVar) -> bool:
        return isinstance(variable.type, Element) and variable.type.root == self.root

    def _index_list(self, indexing: TypedIndexing, span: Span) -> TypedIndexing:
        """The index list of a variable or constraint, over representatives only."""
        own = self._scope_of(indexing)
        if len(own) > 1:
            raise Obstacle(f"it is indexed by two elements of `{self.root}`", span)
        return self._restrict(indexing, own)

    def _restrict(self, indexing: TypedIndexing, variables: Scope) -> TypedIndexing:
        iterators = []
        conditions = list(indexing.conditions)
        for iterator in indexing.iterators:
            own_variables = [v for v in iterator.variables if v in variables]
            is_root_set = isinstance(iterator.domain, NamedSet) and iterator.domain.name == self.root
            if own_variables and is_root_set:
                named = NamedSet(span=iterator.domain.span, types=iterator.domain.types, name=self.representatives)
                iterator = structs.replace(iterator, domain=named)
            elif own_variables:
                conditions += [self._is_representative(v) for v in own_variables]
            iterators.append(iterator)
        return TypedIndexing(tuple(iterators), tuple(conditions))

    def _is_representative(self, variable: IndexVar) -> TypedExpr:
        element = IndexRef(span=variable.span, type=variable.type, variable=variable)
        named = NamedSet(span=variable.span, types=(variable.type,), name=self.representatives)
        return Membership(span=variable.span, type=Numeric(), element=(element,), domain=named)

    # --- expressions -------------------------------------------------------------------------------------------------

    def _rewrite_assertion(self, node: TypedExpr, scope: Scope) -> TypedExpr:
        """Rewrite the body of a constraint: comparisons become rows unless a decision guards them."""
        match node:
            case ComparisonChain() if not {*node.ops} - {"<=", ">=", "=="}:
                return structs.replace(node, operands=tuple(self._rewrite(o, scope) for o in node.operands))
            case Logic(op="and"):
                return structs.replace(node, operands=tuple(self._rewrite_assertion(o, scope) for o in node.operands))
            case Logic(op="=>", operands=(condition, body)) if not condition.decision:
                return structs.replace(node, operands=(condition, self._rewrite_assertion(body, scope)))
            case IfThenElse() if not node.condition.decision:
                then, otherwise = (
                    self._rewrite_assertion(node.then, scope),
                    self._rewrite_assertion(node.otherwise, scope),
                )
                return structs.replace(node, then=then, otherwise=otherwise)
        rewritten: TypedExpr = self._rewrite(node, scope)
        return rewritten

    def _rewrite(self, node: Any, scope: Scope, nonlinear: TypedExpr | None = None) -> Any:
        """A node with its sums over elements rewritten.

        `scope` holds the elements that are chosen around it, `nonlinear` is a node around it that is not linear in it.
        """
        if isinstance(node, tuple):
            return tuple(self._rewrite(part, scope, nonlinear) for part in node)
        if not isinstance(node, TypedExpr) or not node.decision:
            return node
        if has_decided_subscripts(node):
            raise Obstacle(f"`{shorten(node.span.text, 60)}` is read at a decision", node.span)
        if nonlinear is None and not _is_linear(node):
            nonlinear = node
        if isinstance(node, Reduction):
            return self._rewrite_reduction(node, scope, nonlinear)
        if isinstance(node, LetRef):
            self._rewrite_let(node.name)
            if node.name in self._sums:
                if scope:
                    raise self._coupling_obstacle(node.span)
                if nonlinear is not None:
                    raise self._nonlinear_obstacle(nonlinear)
            return node
        changed = {
            name: self._rewrite(getattr(node, name), scope, nonlinear)
            for name in node.__struct_fields__
            if name not in ("span", "type", "decision") and isinstance(getattr(node, name), TypedExpr | tuple)
        }
        return structs.replace(node, **changed) if changed else node

    def _rewrite_reduction(self, node: Reduction, scope: Scope, nonlinear: TypedExpr | None) -> TypedExpr:
        own = self._scope_of(node.indexing)
        free = frozenset(v for v in own if not self._is_chosen(v, node.indexing, scope))
        if not free:
            return structs.replace(node, body=self._rewrite(node.body, scope | own, nonlinear))
        if node.op != "sum":
            raise Obstacle(f"`{node.op}` over elements of `{self.root}` is not a sum", node.span)
        if scope:
            raise self._coupling_obstacle(node.span)
        if nonlinear is not None:
            raise self._nonlinear_obstacle(nonlinear)
        if len(own) > 1:
            raise Obstacle(f"a sum over pairs of elements of `{self.root}`", node.span)
        (variable,) = free
        self._summed_at = node.span
        body = self._rewrite(node.body, scope | own)
        if self.members is None:
            return structs.replace(node, indexing=self._restrict(node.indexing, free), body=body)
        index = IndexRef(span=variable.span, type=variable.type, variable=variable)
        members = ParamRef(span=node.span, type=Numeric(), name=self.members, subscripts=(index,))
        weighted = Arithmetic(span=node.span, type=node.type, decision=True, op="*", left=members, right=body)
        return structs.replace(node, indexing=self._restrict(node.indexing, free), body=weighted)

    def _is_chosen(self, variable: IndexVar, indexing: TypedIndexing, scope: Scope) -> bool:
        """Whether a condition sets the variable equal to an element that is chosen already."""
        for condition in indexing.conditions:
            if isinstance(condition, ComparisonChain) and condition.ops == ("==",):
                sides = [o.variable for o in condition.operands if isinstance(o, IndexRef)]
                if len(sides) == 2 and variable in sides and any(s in scope for s in sides):
                    return True
        return False

    _summed_at: Span | None = None

    def _rewrite_let(self, name: str) -> None:
        if name in self.lets:
            return
        let = self.model.lets[name]
        self.lets[name] = let
        before, self._summed_at = self._summed_at, None
        own = self._scope_of(let.indexing)
        self.lets[name] = structs.replace(let, value=self._rewrite(let.value, own))
        if self._summed_at is not None:
            self._sums[name] = self._summed_at
        self._summed_at = self._summed_at or before
        for inner in _lets_in(let.value):
            if inner in self._sums:
                self._sums.setdefault(name, self._sums[inner])
                self._summed_at = self._summed_at or self._sums[inner]

    def _coupling_obstacle(self, span: Span) -> Obstacle:
        return Obstacle(f"an expression of one element of `{self.root}` contains a sum over all elements", span)

    def _nonlinear_obstacle(self, node: TypedExpr) -> Obstacle:
        what = shorten(node.span.text, 60)
        return Obstacle(f"`{what}` is not linear in a sum over elements of `{self.root}`", node.span)


def _is_linear(node: TypedExpr) -> bool:
    """Whether a numeric expression is linear in those of its parts that decide something."""
    match node:
        case Arithmetic(op="+" | "-") | Negate() | VariableRef() | LetRef() | Fallback() | Expected():
            return True
        case Arithmetic(op="*"):
            return not (node.left.decision and node.right.decision)
        case Arithmetic(op="/"):
            return not node.right.decision
        case IfThenElse():
            return not node.condition.decision
        case Reduction():
            return node.op == "sum"
    return False


def _lets_in(node: object) -> set[str]:
    from gpusched_dsl.compiling.interchangeable.generic import parts

    found = {node.name} if isinstance(node, LetRef) else set()
    if isinstance(node, tuple | TypedExpr | TypedSet | TypedIndexing):
        for part in parts(node):
            found |= _lets_in(part)
    return found
