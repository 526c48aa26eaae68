"""The lines of a portfolio: its methods, the futures in which their plans are simulated; GSM1670."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.policies.inheritance import chain_of_policy, merge
from gpusched_dsl.language.blocks.policies.scope import clock_unit
from gpusched_dsl.language.blocks.policies.values import Values
from gpusched_dsl.language.blocks.tests.test_block import check_method_call
from gpusched_dsl.language.checked import CheckedModel, Constant, TypedExpr
from gpusched_dsl.language.checked_policy import CheckedFutures, CheckedMember, CheckedPortfolio
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

VERBS = ("portfolio", "lookahead", "futures", "continue", "mix", "vary")
SETTINGS = ("time_limit",)


def is_portfolio(rules: Mapping[str, tree.PolicyRule]) -> bool:
    """Whether a policy has a line of portfolios."""
    return any(rule.verb in VERBS for rule in rules.values())


def names_methods(policy: tree.Policy) -> bool:
    """Whether a policy has a line with names of methods."""
    return any(isinstance(line, tree.PolicyRule) and line.verb in VERBS for line in policy.statements)


class PortfolioLines:
    """Checks the lines of one portfolio. `known` are the names of all solvers and policies; None: any name."""

    def __init__(
        self, workspace: Workspace, values: Values, model: CheckedModel, known: Collection[str] | None
    ) -> None:
        self.workspace, self.values, self.model, self.known = workspace, values, model, known
        self.diagnostics: Diagnostics = values.checker.diagnostics

    def check(self, policy: tree.Policy, rules: Mapping[str, tree.PolicyRule]) -> CheckedPortfolio | None:
        """Return the portfolio; None, or an unusable one, after reported errors."""
        name = policy.name
        for rule in rules.values():
            if rule.verb not in VERBS:
                message = f"`{rule.verb}` is a line of one policy, and `{name.text}` is a portfolio"
                self._error(message, rule.span, "not in a portfolio", "write it in one of the policies that it follows")
        if "portfolio" not in rules:
            message = f"policy `{name.text}` lacks the line `portfolio`"
            help = "add it, as in `portfolio Greedy, EDF;`"
            self.diagnostics.error("GSM1617", message, name.span, "not complete", help=help)
            return None
        line = rules["portfolio"]
        members = self._members(policy, line)
        if len(members) < 2:
            message = "a portfolio needs at least two methods"
            self._error(message, line.span, "only one", "add another, as in `portfolio Greedy, EDF;`")
        horizon, futures = self._horizon(rules.get("lookahead")), self._futures(rules.get("futures"))
        if futures is not None and futures.arrivals == "past" and "lookahead" not in rules:
            message = "futures with arrivals never end"
            self._error(message, futures.span, "no horizon", "state one, such as `lookahead 24[h];`")
        continuing = tuple(self._check_continuations(policy, rules["continue"].by)) if "continue" in rules else ()
        return CheckedPortfolio(
            span=line.span,
            members=members,
            horizon=horizon,
            futures=futures,
            continuing=continuing,
            mixtures=self._count_of(rules.get("mix"), "mixture"),
            variations=self._count_of(rules.get("vary"), "variation"),
        )

    # --- methods -----------------------------------------------------------------------------------------------------

    def _members(self, policy: tree.Policy, line: tree.PolicyRule) -> tuple[CheckedMember, ...]:
        found: dict[str, CheckedMember] = {}
        for call in line.methods:
            name = call.name.text
            method = check_method_call(call, self.diagnostics, self.known)
            if name in found:
                self._error(f"`{name}` is listed twice", call.name.span, "again", "remove it")
                continue
            self._check_base(policy, call.name)
            wrong = next((s for s in call.settings if s.name.text not in SETTINGS), None)
            if wrong is not None:
                message = f"`{wrong.name.text}` is not a setting of a method of a portfolio"
                self._error(message, wrong.name.span, "not known", "the only one is the time of a plan: `time_limit`")
            seconds = method.settings.get("time_limit")
            if seconds is not None and (isinstance(seconds, bool | str) or seconds <= 0):
                self._error("`time_limit` must be a positive time", call.span, "", "write it as in `time_limit = 5[s]`")
                seconds = None
            assert not isinstance(seconds, str)
            found[name] = CheckedMember(name, call.name.span, None if seconds is None else float(seconds))
        return tuple(found.values())

    def _check_continuations(self, policy: tree.Policy, names: Sequence[tree.Identifier]) -> Sequence[CheckedMember]:
        found: dict[str, CheckedMember] = {}
        for name in names:
            call = tree.MethodCall(span=name.span, name=name)
            check_method_call(call, self.diagnostics, self.known)
            if name.text in found:
                self._error(f"`{name.text}` is listed twice", name.span, "again", "remove it")
            self._check_base(policy, name)
            found[name.text] = CheckedMember(name.text, name.span)
        return list(found.values())

    def _check_base(self, policy: tree.Policy, name: tree.Identifier) -> None:
        """Report a portfolio in itself or in another one."""
        if name.text == policy.name.text:
            message = f"the portfolio `{name.text}` contains itself"
            self._error(message, name.span, "this policy", "name the policies that it chooses from")
            return
        block = self.workspace.policies.get(name.text)
        chain = None if block is None else chain_of_policy(self.workspace, block, Diagnostics())
        if chain is not None and is_portfolio(merge(chain, Diagnostics()).rules):
            message = f"`{name.text}` is a portfolio, and portfolios cannot contain portfolios"
            self._error(message, name.span, "a portfolio", "name the policies that it follows")

    # --- futures -----------------------------------------------------------------------------------------------------

    def _horizon(self, line: tree.PolicyRule | None) -> TypedExpr | None:
        if line is None:
            return None
        assert line.value is not None
        horizon = self.values.checker.number(line.value, unit=clock_unit(self.model))
        if horizon is None or not self.values.checker.data_only(horizon, "the horizon of a lookahead"):
            return None
        if isinstance(horizon, Constant) and horizon.value <= 0:
            message = "the horizon of a lookahead must be positive"
            self._error(message, line.value.span, "not positive", "state a time, such as `lookahead 24[h];`")
        return horizon

    def _futures(self, line: tree.PolicyRule | None) -> CheckedFutures | None:
        if line is None:
            return None
        count = self.values.integer(line.count, "the number of futures")
        seed = self.values.integer(line.seed, "the seed of futures")
        if isinstance(count, Constant) and count.value < 1:
            assert line.count is not None
            message = "a portfolio needs at least one future"
            help = "state a number, such as `futures 4;`, or remove the line"
            self._error(message, line.count.span, "less than one", help)
        condition = None
        if line.condition is not None:
            condition = self.values.checker.condition(line.condition)
            if condition is None or not self.values.checker.data_only(condition, "a condition of `after arrivals`"):
                return None
        return None if count is None else CheckedFutures(line.span, count, line.arrivals, seed, condition)

    def _count_of(self, line: tree.PolicyRule | None, what: str) -> TypedExpr | None:
        if line is None:
            return None
        count = self.values.integer(line.count, f"the number of {what}s")
        if isinstance(count, Constant) and count.value < 1:
            assert line.count is not None
            message = f"a portfolio simulates at least one {what}"
            help = f"state a number, such as `{line.verb} 20 plans;`, or remove the line"
            self._error(message, line.count.span, "less than one", help)
        return count

    def _error(self, message: str, span: Span, label: str, help: str) -> None:
        self.diagnostics.error("GSM1670", message, span, label, help=help)
