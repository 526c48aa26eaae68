"""`policy` blocks."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Expr
from gpusched_dsl.language.tree.indexing import Indexing
from gpusched_dsl.language.tree.node import Identifier, Node, Statement, TopLevelBlock
from gpusched_dsl.language.tree.tests import MethodCall


class Key(Node, frozen=True, kw_only=True):
    value: Expr
    descending: bool = False


class Rule(Node, frozen=True, kw_only=True):
    """A rule by name with its modifiers: `best_fit`, `new_node exclusive`, `swap_tardy(5)`, `grow by speedup`.

    `by` is a word, `key` an expression: `sort by time[j, g] descending`. At most one of them is there.
    """

    words: tuple[Identifier, ...]
    arguments: tuple[Expr, ...] = ()
    by: Identifier | None = None
    key: Key | None = None


class PolicyRule(Statement, frozen=True, kw_only=True):
    """One line of a policy.

    `verb` is `order`, `choose`, `otherwise`, `place`, `finish`, `keep`, `randomise`, `repeat`, `improve` or `split`; in
    policies for slots also `occupies`, `reserve`, `serve` or `fix`; for the online loop `remember` or `again`; in
    portfolios `portfolio`, `lookahead`, `futures`, `continue`, `mix` or `vary`.
    order/choose/otherwise fill `indexing` (None: all ways of the placement) and `keys`; place/finish/keep/improve fill
    `rules`; randomise has `target` (`order`, `choose`, `place`), `count` (`from 3`) or `probability`, and `by` words;
    repeat has `count` and `rules` (what is kept); improve has `count`, `rules` and `rounds`, or `all_rounds` for
    `rounds all`; split has `count`. occupies has `value` (how many slots); reserve and serve have `indexing`, `value`
    (a load) and one of `rules`; fix has `indexing` and `value`; the `target` of serve and fix is a variable.
    remember has `target` (a parameter) and `value`; again has `value` (a time) and maybe `condition`.
    For portfolios: portfolio has `methods`; lookahead has `value` (a time); futures has `count`, `arrivals` and maybe
    `condition` and `seed`; continue has `by` (names of policies); mix and vary have `count`.
    """

    verb: str
    indexing: Indexing | None = None
    keys: tuple[Key, ...] = ()
    rules: tuple[Rule, ...] = ()
    target: Identifier | None = None
    count: Expr | None = None
    probability: Expr | None = None
    by: tuple[Identifier, ...] = ()
    rounds: Expr | None = None
    all_rounds: bool = False
    value: Expr | None = None
    condition: Expr | None = None
    methods: tuple[MethodCall, ...] = ()
    arrivals: str = ""  # "", "past", "generated", or "over": there are no futures before
    seed: Expr | None = None


class StagePart(Node, frozen=True, kw_only=True):
    """`speed speed[j, t, g];`, `queue submitted[j], weight[j] descending;`, `uses g of gpus[t];`."""

    role: Identifier
    keys: tuple[Key, ...]
    of: Expr | None = None


class PolicyStage(Statement, frozen=True, kw_only=True):
    """`profile plan[j in Jobs, t in Types] over (g, u) in Rungs { ... }`; `verb` is `profile` or `admit`."""

    verb: str
    name: Identifier
    indexing: Indexing
    over: Indexing
    parts: tuple[StagePart, ...]
    doc: str | None = None


class Policy(TopLevelBlock, frozen=True, kw_only=True):
    """Statements are `LetDecl`, `PolicyStage` and `PolicyRule`."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None
