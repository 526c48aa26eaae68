"""`profile plan[...] over ... { ... }` and `admit turn[...] over ... { ... }`, checked, with the names they declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies import stage_table as stages
from gpusched_dsl.language.blocks.policies.stage_table import CHOICE, JOB, KIND, PAIR, PARTS, RESULTS, result_name
from gpusched_dsl.language.checked import CheckedParam, NamedSet, Numeric, RandomRef, TypedExpr, TypedIndexing
from gpusched_dsl.language.checked_policy import CheckedKey, CheckedStage
from gpusched_dsl.language.checking import EMPTY, Binding, ExpressionChecker, Scope
from gpusched_dsl.language.checking.component_names import IGNORED
from gpusched_dsl.language.checking.conversion import agree, fit, unit_in
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible


def result_names(stage: tree.PolicyStage) -> list[str]:
    """The names of the parameters that a stage declares."""
    return [result_name(stage.name.text, word) for word in RESULTS[stage.verb]]


def check_stage(checker: ExpressionChecker, node: tree.PolicyStage) -> CheckedStage | None:
    """The stage, or None when something is wrong, which has been reported (GSM1636, GSM1637, names, units)."""
    return _Stage(checker, node).run()


class _Stage:
    def __init__(self, checker: ExpressionChecker, node: tree.PolicyStage) -> None:
        self.checker, self.node = checker, node
        self.parts: dict[str, TypedExpr] = {}
        self.keys: dict[str, tuple[CheckedKey, ...]] = {}
        self.scopes: dict[str, Scope] = {}
        self.sound = True

    def run(self) -> CheckedStage | None:
        indexing, pair = self.checker.indexing(self.node.indexing)
        over, choice = self.checker.indexing(self.node.over, pair)
        self.scopes = {PAIR: pair, CHOICE: choice, JOB: pair, KIND: pair}
        if self.node.verb == "admit" and indexing is not None:
            self._job_and_kind(indexing)
        items = self._items()
        for role, item in items.items():
            self._read_part(role, item)
        complete = self._is_complete(items)
        if indexing is None or over is None or not (self.sound and complete):
            return None
        units = self._profile_units() if self.node.verb == "profile" else self._admit_units()
        if units is None:
            return None
        node = self.node
        results = self._results(indexing, over, units)
        name, parts, keys = node.name.text, self.parts, self.keys
        return CheckedStage(node.verb, name, node.span, indexing, over, parts, keys, results, node.doc)

    # --- index lists and parts ---------------------------------------------------------------------------------------

    def _job_and_kind(self, indexing: TypedIndexing) -> None:
        """Check that `admit` has two indices, the jobs and the types of node, each over its own set."""
        fits = len(indexing.iterators) == 2 and all(
            isinstance(i.domain, NamedSet) and len(i.variables) == 1 and i.variables[0].name != IGNORED
            for i in indexing.iterators
        )
        if not fits:
            self._report_wrong(
                self.node.indexing.span,
                "`admit` needs two indices, the job and the type of node, each over a named set",
                "not these two",
                f"as in `admit {self.node.name.text}[j in Jobs, t in Types] over ...`",
            )
            return
        for sees, iterator in zip((JOB, KIND), indexing.iterators, strict=True):
            variable = iterator.variables[0]
            self.scopes[sees] = EMPTY.bind(variable.name, Binding(variable, iterator.domain, 0))

    def _items(self) -> dict[str, tree.StagePart]:
        known, found = PARTS[self.node.verb], dict[str, tree.StagePart]()
        for item in self.node.parts:
            role = item.role
            if role.text not in known or role.text == "capacity":
                help = (
                    did_you_mean(role.text, known)
                    or f"its parts are {_list_names(k for k in known if k != 'capacity')}"
                )
                self._report_incomplete(role.span, f"`{self.node.verb}` has no part `{role.text}`", "unknown", help)
            elif role.text in found:
                first = Label(found[role.text].role.span, "first here")
                self._report_incomplete(role.span, f"`{role.text}` is repeated", "again", "keep one of them", [first])
            else:
                found[role.text] = item
        return found

    def _is_complete(self, items: Mapping[str, tree.StagePart]) -> bool:
        known = PARTS[self.node.verb]
        missing = [r for r, part in known.items() if part.default is None and r not in items and r != "capacity"]
        if missing:
            words = "; ".join(f"`{role}`: {known[role].meaning}" for role in missing)
            what = f"`{self.node.verb} {self.node.name.text}` lacks {_list_names(missing)}"
            self._report_incomplete(self.node.name.span, what, "not complete", words)
        return not missing

    def _read_part(self, role: str, item: tree.StagePart) -> None:
        part = PARTS[self.node.verb][role]
        scope = self.scopes[part.sees]
        if role == "uses":
            self._uses(item, scope)
            return
        if item.of is not None:
            self._report_wrong(item.of.span, f"`{role}` cannot have an `of`", "only `uses` can have it", "remove it")
        if part.ordering:
            keys = [(self._number(k.value, scope, role), k.descending) for k in item.keys]
            self.keys[role] = tuple(CheckedKey(typed, down) for typed, down in keys if typed is not None)
            return
        if len(item.keys) > 1 or item.keys[0].descending:
            end = item.keys[-1].span
            self._report_wrong(
                end, f"`{role}` needs exactly one number", "more than one", "only `queue` and `kinds` have keys"
            )
            return
        value = item.keys[0].value
        typed = self._random(value, scope) if role == "work" else self._number(value, scope, role)
        if typed is not None:
            self.parts[role] = typed

    def _uses(self, item: tree.StagePart, scope: Scope) -> None:
        if item.of is None or len(item.keys) > 1 or item.keys[0].descending:
            help = "write `uses g of total[t];`"
            self._report_wrong(item.span, "`uses` needs the amount and its capacity", "not complete", help)
            return
        amount = self._number(item.keys[0].value, scope, "uses")
        capacity = self._number(item.of, self.scopes[KIND], "uses")
        pair = agree(self.checker, [amount, capacity]) if amount is not None and capacity is not None else None
        if pair is None:
            self.sound = False
        else:
            self.parts["uses"], self.parts["capacity"] = pair

    def _number(self, expr: tree.Expr, scope: Scope, role: str) -> TypedExpr | None:
        typed = self.checker.number(expr, scope)
        if typed is None or not self.checker.data_only(typed, f"`{role}` of a policy"):
            self.sound = False
            return None
        return typed

    def _random(self, expr: tree.Expr, scope: Scope) -> TypedExpr | None:
        typed = self.checker.check(expr, scope.expect())
        if typed is None or isinstance(typed, RandomRef):
            self.sound = self.sound and typed is not None
            return typed
        self._report_wrong(
            expr.span,
            "`work` must be a random quantity, not an expression",
            "not a `random`",
            "declare `random length[Jobs] in epoch;` in the model and write `work length[j];`",
        )
        return None

    # --- units and results -------------------------------------------------------------------------------------------

    def _profile_units(self) -> dict[str, Unit] | None:
        work, time = unit_in(self.parts["work"]), unit_in(self.parts["time_left"])
        money = unit_in(self.parts["rate"]) * time
        if convertible(money, UNITS["$"]):
            money = UNITS["$"]
        units = {stages.WORK: work, stages.TIME: time, stages.MONEY: money}
        units |= {stages.SPEED: work / time, stages.RATE: money / time, stages.PLAIN: DIMENSIONLESS}
        return units if self._convert_units(units) else None

    def _admit_units(self) -> dict[str, Unit] | None:
        units = {stages.MONEY: unit_in(self.parts["run"]), stages.PLAIN: DIMENSIONLESS}
        return units if self._convert_units({stages.MONEY: units[stages.MONEY]}) else None

    def _convert_units(self, units: Mapping[str, Unit]) -> bool:
        for role, typed in self.parts.items():
            unit = units.get(PARTS[self.node.verb][role].unit)
            if unit is None or role == "work":
                continue
            because = Label(self.node.name.span, f"`{self.node.verb}` needs it in `{unit}`") if unit.dimension else None
            fitted = fit(self.checker, typed, unit, because=because)
            if fitted is None:
                self.sound = False
            else:
                self.parts[role] = fitted
        return self.sound

    def _results(
        self, indexing: TypedIndexing, over: TypedIndexing, units: Mapping[str, Unit]
    ) -> dict[str, CheckedParam]:
        """Return parameters over complete index sets, for any conditions: excluded entries read as 0."""
        iterators = {
            JOB: indexing.iterators[:1],
            PAIR: indexing.iterators,
            CHOICE: (*indexing.iterators, *over.iterators),
        }
        found: dict[str, CheckedParam] = {}
        for word, result in RESULTS[self.node.verb].items():
            name = result_name(self.node.name.text, word)
            kind = Numeric(False, units[result.unit])
            over_all = TypedIndexing(iterators[result.of])
            found[word] = CheckedParam(name, self.node.name.span, kind, "real", over_all, doc=result.meaning)
        if self.node.verb == "admit":
            amount = structs.replace(found["amount"], type=Numeric(False, unit_in(self.parts["uses"])))
            found["amount"] = amount
        return found

    # --- errors ------------------------------------------------------------------------------------------------------

    def _report_incomplete(
        self, span: Span, message: str, label: str, help: str, secondary: Iterable[Label] = ()
    ) -> None:
        self.sound = False
        self.checker.error("GSM1636", message, span, label, help=help, secondary=secondary)

    def _report_wrong(self, span: Span, message: str, label: str, help: str) -> None:
        self.sound = False
        self.checker.error("GSM1637", message, span, label, help=help)


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
