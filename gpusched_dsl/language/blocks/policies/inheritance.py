"""The lines of a policy together with those that it inherits, and who wrote each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked_policy import PolicyLine
from gpusched_dsl.language.checking.cycles import report_circle
from gpusched_dsl.language.checking.flatten import HasModels
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span


class HasPolicies(HasModels, Protocol):
    """What is needed of a workspace here; `damaged` are blocks of which a statement could not be read."""

    @property
    def policies(self) -> Mapping[str, tree.Policy]: ...

    @property
    def damaged(self) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True)
class PolicyLines:
    """`lets` and `stages` by name, `rules` by their words (`order`, `randomise place`), `written` as `let a`."""

    lets: dict[str, tree.LetDecl] = field(default_factory=dict)
    stages: dict[str, tree.PolicyStage] = field(default_factory=dict)
    rules: dict[str, tree.PolicyRule] = field(default_factory=dict)
    written: dict[str, PolicyLine] = field(default_factory=dict)


def chain_of(workspace: HasPolicies, policy: tree.Policy, diagnostics: Diagnostics) -> list[tree.Policy] | None:
    """The policy preceded by all that it extends, the oldest first; None where one of them is not there."""
    chain = [policy]
    while (base := chain[-1].extends) is not None:
        found = workspace.policies.get(base.text)
        if found is None and workspace.may_hold(base.text):
            return None
        if found is None:
            diagnostics.error(
                "GSM1610",
                f"`{chain[-1].name.text}` extends the unknown policy `{base.text}`",
                base.span,
                "no such policy",
                help=did_you_mean(base.text, workspace.policies) or "check that its file is imported",
            )
            return None
        if found in chain:
            report_circle("GSM1611", "policy", chain[chain.index(found) :], diagnostics)
            return None
        chain.append(found)
    return chain[::-1]


def merge(chain: Sequence[tree.Policy], diagnostics: Diagnostics) -> PolicyLines:
    """The lines that hold: each takes the place of the inherited one of the same words or the same name."""
    lines = PolicyLines()
    for policy in chain:
        seen: dict[str, Span] = {}
        for statement in policy.statements:
            if isinstance(statement, tree.LetDecl | tree.PolicyStage):
                verb = "let" if isinstance(statement, tree.LetDecl) else statement.verb
                words, name = f"{verb} {statement.name.text}", statement.name
                if words in seen:
                    again = f"`{name.text}` is declared twice"
                    _report(diagnostics, "GSM1103", again, name.span, seen[words], "give one of them another name")
                    continue
                seen[words] = name.span
                if isinstance(statement, tree.LetDecl):
                    lines.lets[name.text] = statement
                else:
                    lines.stages[name.text] = statement
            elif isinstance(statement, tree.PolicyRule):
                words = words_of(statement)
                if words in seen:
                    again = f"`{words}` is repeated in one policy"
                    _report(diagnostics, "GSM1613", again, statement.span, seen[words], "keep one of them")
                    continue
                seen[words] = statement.span
                lines.rules[words] = statement
            else:
                continue
            lines.written[words] = PolicyLine(statement.span, policy.name.text)
    return lines


def words_of(rule: tree.PolicyRule) -> str:
    """What a line is known by: its verb, and what it is about."""
    return rule.verb if rule.target is None else f"{rule.verb} {rule.target.text}"


def _report(diagnostics: Diagnostics, code: str, message: str, span: Span, first: Span, help: str) -> None:
    diagnostics.error(code, message, span, "again", secondary=[Label(first, "first here")], help=help)
