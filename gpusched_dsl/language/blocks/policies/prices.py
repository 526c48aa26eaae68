"""`price(capacity[v])`, `price(run[j, n])`: prices of constraints and decisions, as parameters of the policy."""

from __future__ import annotations

from msgspec import Struct, field, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.names import Decisions
from gpusched_dsl.language.checked import (
    CheckedConstraint,
    CheckedModel,
    CheckedParam,
    CheckedVariable,
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
from gpusched_dsl.language.units import Unit

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
        if constraint is None and self._is_placed(word.text):
            variable = self.model.variables[word.text]
            if not self.model.objectives:
                self._report_no_objective(checker, call, "variable", variable.name)
                return None
            return self._reference(checker, variable, self.model.objectives[0].unit, reference, scope)
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
            self._report_no_objective(checker, call, "constraint", constraint.name)
            return None
        unit = self.model.objectives[0].unit / unit_in(body.operands[0])
        return self._reference(checker, constraint, unit, reference, scope)

    def _is_placed(self, name: str) -> bool:
        """Whether a name is that of the placement's variable."""
        return self.model.placement is not None and name == self.model.placement.variable

    def _report_no_objective(self, checker: Checker, call: tree.Call, sort: str, name: str) -> None:
        checker.error(
            "GSM1672",
            f"{sort} `{name}` has no price: model `{self.model.name}` has no objective",
            call.span,
            "a part of the objective",
            secondary=[Label(self.model.span, "nothing is minimised or maximised here")],
            help="add an objective to the model, or use a key without prices",
        )

    def _reference(
        self,
        checker: Checker,
        priced: CheckedConstraint | CheckedVariable,
        unit: Unit,
        reference: tree.Name | tree.Subscript,
        scope: Scope,
    ) -> TypedExpr | None:
        subscripts = reference.subscripts if isinstance(reference, tree.Subscript) else ()
        omitted = self._node_position(priced) if len(subscripts) + 1 == len(priced.indexing.variables) else None
        iterators = list(priced.indexing.iterators)
        if omitted is not None:
            iterators.pop(omitted)
        name = f"{PRICE}({priced.name}{'' if omitted is None else ' of any node'})"
        if name not in self.found:
            sort = "constraint" if isinstance(priced, CheckedConstraint) else "decision"
            every = TypedIndexing(tuple(iterators))
            param = CheckedParam(name, priced.span, Numeric(False, unit), "real", every, doc=f"price of a {sort}")
            position = None if omitted is None else self._place(priced, omitted)
            of = (priced.name, "") if isinstance(priced, CheckedConstraint) else ("", priced.name)
            self.found[name] = CheckedPrice(param, of[0], reference.span, position, of[1])
            checker.symbols.values[name] = param
        param = self.found[name].param
        slots = slots_of(param)
        declared = structs.replace(param, name=priced.name)  # for messages
        typed = subscripts_of(checker, declared, slots, reference, subscripts, scope)
        if typed is None or not check_inside(checker, declared, slots, typed, scope):
            return None
        return ParamRef(span=reference.span, type=param.type, name=name, subscripts=typed)

    def _node_position(self, priced: CheckedConstraint | CheckedVariable) -> int | None:
        """Return the iterator over nodes that a price may omit: alone, and not used by the other iterators."""
        node = None if self.decisions is None else self.decisions.node
        if node is None:
            return None
        found = [
            number
            for number, iterator in enumerate(priced.indexing.iterators)
            if len(iterator.variables) == 1 and same_kind(iterator.variables[0].type, node.type)
        ]
        return found[0] if len(found) == 1 else None

    @staticmethod
    def _place(priced: CheckedConstraint | CheckedVariable, iterator: int) -> int:
        """Return the position of an iterator's only variable among all indices."""
        return sum(len(one.variables) for one in priced.indexing.iterators[:iterator])

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
