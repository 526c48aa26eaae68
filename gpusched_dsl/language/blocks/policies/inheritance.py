"""The lines of a policy, including inherited ones, with the policy of each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked_policy import PolicyLine
from gpusched_dsl.language.checking.extends import POLICY, chain_of, statements_of
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics


class PolicyLines(Struct, frozen=True):
    """`lets` and `stages` by name, `rules` by their words (`order`, `randomise place`), `sources` by `let a`."""

    lets: dict[str, tree.LetDecl] = field(default_factory=dict)
    stages: dict[str, tree.PolicyStage] = field(default_factory=dict)
    rules: dict[str, tree.PolicyRule] = field(default_factory=dict)
    sources: dict[str, PolicyLine] = field(default_factory=dict)


def chain_of_policy(workspace: Workspace, policy: tree.Policy, diagnostics: Diagnostics) -> list[tree.Policy] | None:
    """Return the policy after those that it extends, oldest first; None if one of them is missing."""
    return chain_of(workspace, workspace.policies, policy, POLICY, diagnostics)


def merge(chain: Sequence[tree.Policy], diagnostics: Diagnostics) -> PolicyLines:
    """Return the effective lines: each replaces the inherited line with the same words or name."""

    def report(key: str, first: tree.Statement, again: tree.Statement) -> None:
        if isinstance(again, tree.LetDecl | tree.PolicyStage):
            assert isinstance(first, tree.LetDecl | tree.PolicyStage)
            code, message = "GSM1103", f"`{again.name.text}` is declared twice"
            spans, help = (again.name.span, first.name.span), "give one of them another name"
        else:
            code, message = "GSM1613", f"`{key}` is repeated in one policy"
            spans, help = (again.span, first.span), "keep one of them"
        diagnostics.error(code, message, spans[0], "again", secondary=[Label(spans[1], "first here")], help=help)

    lines = PolicyLines()
    for words, (policy, statement) in statements_of(chain, _words_of, report).items():
        lines.sources[words] = PolicyLine(statement.span, policy.name.text)
        match statement:
            case tree.LetDecl():
                lines.lets[statement.name.text] = statement
            case tree.PolicyStage():
                lines.stages[statement.name.text] = statement
            case tree.PolicyRule():
                lines.rules[words] = statement
    return lines


def _words_of(statement: tree.Statement) -> str | None:
    match statement:
        case tree.LetDecl():
            return f"let {statement.name.text}"
        case tree.PolicyStage():
            return f"{statement.verb} {statement.name.text}"
        case tree.PolicyRule():
            return words_of(statement)
    return None


def words_of(rule: tree.PolicyRule) -> str:
    """Return the key of a line: its verb and its subject."""
    return rule.verb if rule.target is None else f"{rule.verb} {rule.target.text}"
