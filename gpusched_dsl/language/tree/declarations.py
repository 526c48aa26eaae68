"""Declarations in a model: sets, parameters, variables, objectives, constraints, options, placements."""

from __future__ import annotations

from gpusched_dsl.language.tree.expressions import Call, Expr, UnitNode
from gpusched_dsl.language.tree.indexing import Indexing
from gpusched_dsl.language.tree.node import Identifier, Node, Statement


class Bound(Node, frozen=True, kw_only=True):
    """`>= 0`, `<= limit`, `> 0`, `== 3` after a declaration."""

    op: str
    value: Expr


class SetDecl(Statement, frozen=True, kw_only=True):
    """`set Nodes "doc" identical by class within Machines ordered;`, `set Configs = {...};`.

    `set Pred[j in Jobs] within Jobs;` has an `indexing`.
    """

    name: Identifier
    indexing: Indexing | None = None
    override: bool = False
    doc: str | None = None
    ordered: bool = False
    identical: bool = False
    identical_by: Identifier | None = None
    within: Expr | None = None
    value: Expr | None = None


class ParamDecl(Statement, frozen=True, kw_only=True):
    """`kind` is `real`, `integer`, `binary` or `symbol`; `within S` declares an element-valued parameter."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    kind: str = "real"
    within: Expr | None = None
    bounds: tuple[Bound, ...] = ()
    default: Expr | None = None
    value: Expr | None = None
    override: bool = False
    doc: str | None = None


class LetDecl(Statement, frozen=True, kw_only=True):
    """A named expression; an `interval` is one with an `IntervalExpr` as its value."""

    name: Identifier
    value: Expr
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    override: bool = False
    doc: str | None = None


class ReportDecl(Statement, frozen=True, kw_only=True):
    """`report late in h = sum[j in Jobs] tardiness[j];`: an expression that is evaluated at every solution."""

    name: Identifier
    value: Expr
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    doc: str | None = None


class VarDecl(Statement, frozen=True, kw_only=True):
    """`kind` is `real`, `integer` or `binary`; `semicontinuous`: 0 or within the bounds."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    kind: str = "real"
    semicontinuous: bool = False
    bounds: tuple[Bound, ...] = ()
    override: bool = False
    doc: str | None = None


class RandomDecl(Statement, frozen=True, kw_only=True):
    """`random length in epoch "doc";` or `random W ~ exponential(mean = 3);`."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    distribution: Call | None = None
    doc: str | None = None


class ObjectiveTerm(Node, frozen=True, kw_only=True):
    """A named term of an objective; `name` is None in the short form `minimize f(x);`."""

    name: Identifier | None
    value: Expr
    override: bool = False
    doc: str | None = None


class ObjectiveDecl(Statement, frozen=True, kw_only=True):
    """`sense` is `minimize` or `maximize`; `then` marks a lower-priority objective."""

    sense: str
    terms: tuple[ObjectiveTerm, ...]
    name: Identifier | None = None
    unit: UnitNode | None = None
    then: bool = False
    doc: str | None = None


class ConstraintDecl(Statement, frozen=True, kw_only=True):
    name: Identifier
    body: Expr
    indexing: Indexing | None = None
    override: bool = False
    doc: str | None = None


class CheckDecl(Statement, frozen=True, kw_only=True):
    """`check [j in Jobs]: deadline[j] >= 0 "a deadline may not be negative";`."""

    condition: Expr
    indexing: Indexing | None = None
    message: str | None = None


class OptionDecl(Statement, frozen=True, kw_only=True):
    """`option node_rule in { paper, force } default paper;`, perhaps with `start from paper` before the `;`.

    `start`: solutions under this choice are solutions under all others, so solves may start from one.
    """

    name: Identifier
    choices: tuple[Identifier, ...]
    default: Identifier
    start: Identifier | None = None
    doc: str | None = None


class When(Statement, frozen=True, kw_only=True):
    """`when node_rule == force { ... }`; `op` is `==` or `!=`. `otherwise` is the `else { ... }` part."""

    option: Identifier
    op: str
    choice: Identifier
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


class Drop(Statement, frozen=True, kw_only=True):
    """`drop capacity, rent;`: named constraints, terms and objectives of the extended model, or its `decompose`."""

    names: tuple[Identifier, ...]


class Decompose(Statement, frozen=True, kw_only=True):
    """`decompose by Batch;`: one block of variables and constraints for each element of the set `root`."""

    root: Identifier


class PlacementItem(Node, frozen=True, kw_only=True):
    """`job j;`, `uses g of gpus[v];`, `costs price[v] in $/h;`, `lasts exec_time[j, v, g];`."""

    role: Identifier
    value: Expr
    of: Expr | None = None
    unit: UnitNode | None = None


class PlacementDecl(Statement, frozen=True, kw_only=True):
    variable: Identifier
    indices: tuple[Identifier, ...]
    items: tuple[PlacementItem, ...]
