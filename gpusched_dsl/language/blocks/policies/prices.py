"""`price(capacity[v])`: the price of a constraint of the model, as a parameter of the policy."""

from __future__ import annotations

from msgspec import Struct, field, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.checked import (
    CheckedConstraint,
    CheckedModel,
    CheckedParam,
    ComparisonChain,
    Numeric,
    ParamRef,
    TypedExpr,
    TypedIndexing,
)
from gpusched_dsl.language.checked_policy import CheckedPrice
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.kinds import same_kind
from gpusched_dsl.language.checking.protocol import Checker
from gpusched_dsl.language.checking.ranges import check_inside
from gpusched_dsl.language.checking.references import subscripts_of
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean

PRICE = "price"


class PriceFunction(Struct):
    """Checks calls of `price`, and collects the parameters that stand for the prices: `found`, by name."""

    model: CheckedModel
    decisions: Decisions | None
    found: dict[str, CheckedPrice] = field(default_factory=dict)

    def __call__(self, checker: Checker, call: tree.Call, scope: Scope) -> TypedExpr | None:
        """Return the price as a reference to a parameter; None after a report (GSM1671, GSM1672, subscripts)."""
        reference = call.arguments[0] if len(call.arguments) == 1 and not call.named else None
        if not isinstance(reference, tree.Name | tree.Subscript):
            given = "no constraint" if not call.arguments else "not one constraint"
            help = f"name one constraint of the model: `price({self._example()})`"
            checker.error("GSM1671", "`price` needs one constraint of the model", call.span, given, help=help)
            return None
        word = reference.name if isinstance(reference, tree.Subscript) else reference
        constraint = self.model.constraints.get(word.text)
        if constraint is None:
            self._report_no_constraint(checker, reference, word)
            return None
        body = constraint.body
        if not isinstance(body, ComparisonChain) or not isinstance(body.operands[0].type, Numeric):
            checker.error(
                "GSM1671",
                f"constraint `{constraint.name}` has no price: it is a condition, not a comparison of sums",
                word.span,
                "no price",
                secondary=[Label(constraint.span, "this constraint")],
                help="only linear constraints with `<=`, `>=` or `==` have prices",
            )
            return None
        if not self.model.objectives:
            checker.error(
                "GSM1672",
                f"constraint `{constraint.name}` has no price: model `{self.model.name}` has no objective",
                call.span,
                "a part of the objective per unit of the constraint",
                secondary=[Label(self.model.span, "nothing is minimised or maximised here")],
                help="add an objective to the model, or use a key without prices",
            )
            return None
        return self._reference(checker, constraint, reference, scope)

    def _reference(
        self, checker: Checker, constraint: CheckedConstraint, reference: tree.Name | tree.Subscript, scope: Scope
    ) -> TypedExpr | None:
        subscripts = reference.subscripts if isinstance(reference, tree.Subscript) else ()
        omitted = self._node_position(constraint) if len(subscripts) + 1 == len(constraint.indexing.variables) else None
        iterators = list(constraint.indexing.iterators)
        if omitted is not None:
            iterators.pop(omitted)
        name = f"{PRICE}({constraint.name}{'' if omitted is None else ' of any node'})"
        if name not in self.found:
            body = constraint.body
            assert isinstance(body, ComparisonChain)
            unit = self.model.objectives[0].unit / unit_in(body.operands[0])
            every = TypedIndexing(tuple(iterators))
            param = CheckedParam(
                name, constraint.span, Numeric(False, unit), "real", every, doc="price of a constraint"
            )
            position = None if omitted is None else self._place(constraint, omitted)
            self.found[name] = CheckedPrice(param, constraint.name, reference.span, position)
            checker.symbols.values[name] = param
        param = self.found[name].param
        slots = slots_of(param)
        declared = structs.replace(param, name=constraint.name)  # for messages
        typed = subscripts_of(checker, declared, slots, reference, subscripts, scope)
        if typed is None or not check_inside(checker, declared, slots, typed, scope):
            return None
        return ParamRef(span=reference.span, type=param.type, name=name, subscripts=typed)

    def _node_position(self, constraint: CheckedConstraint) -> int | None:
        """Return the iterator over nodes that a price may omit: alone, and not used by the other iterators."""
        node = None if self.decisions is None else self.decisions.node
        if node is None:
            return None
        found = [
            number
            for number, iterator in enumerate(constraint.indexing.iterators)
            if len(iterator.variables) == 1 and same_kind(iterator.variables[0].type, node.type)
        ]
        return found[0] if len(found) == 1 else None

    @staticmethod
    def _place(constraint: CheckedConstraint, iterator: int) -> int:
        """Return the position of an iterator's only variable among all indices."""
        return sum(len(one.variables) for one in constraint.indexing.iterators[:iterator])

    def _report_no_constraint(
        self,
        checker: Checker,
        reference: tree.Name | tree.Subscript,
        word: tree.Name | tree.Identifier,
    ) -> None:
        symbols = checker.symbols
        if word.text in symbols.poisoned:
            return
        declared = symbols.span_of(word.text)
        help: str | None = did_you_mean(word.text, self.model.constraints)
        if help is None and PRICE in symbols.values:
            help = f"subscripts of `{PRICE}` are written in square brackets: `{PRICE}[{reference.span.text}]`"
        checker.error(
            "GSM1671",
            f"model `{self.model.name}` has no constraint `{word.text}`",
            word.span,
            "not a constraint" if declared is None else f"{symbols.sort_of(word.text)}",
            secondary=[] if declared is None else [Label(declared, f"`{word.text}` is declared here")],
            help=help or f"name a constraint of the model: `price({self._example()})`",
        )

    def _example(self) -> str:
        for constraint in self.model.constraints.values():
            variables = constraint.indexing.variables
            return f"{constraint.name}[{', '.join(v.name for v in variables)}]" if variables else constraint.name
        return "capacity[n]"
