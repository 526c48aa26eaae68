"""The syntax tree of a `.gsm` text: the written text, with spans, before names and types are known.

Every node is a frozen dataclass whose `span` covers its text. Nothing here is evaluated or resolved.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.source import Source, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier(Node):
    """A name in the place of a name."""

    text: str


# --- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFactor(Node):
    """`h`, `h^2` (exponent 2), or the `h` of `$/h` (exponent -1). `1` as in `1/h` has no factor."""

    symbol: str
    exponent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitNode(Node):
    """A unit as written, such as `$/(GPU*h)`; no factors means the unit `1`."""

    factors: tuple[UnitFactor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr(Node):
    """Any expression, numeric, logical, symbolic or a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Expr):
    value: float
    is_integer: bool
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Expr):
    """A quoted string; as an element label `"j1"` and, in scenario data, `j1` are the same."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Expr):
    value: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Expr):
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscript(Expr):
    """`x[j, h-1]`."""

    name: Identifier
    subscripts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise(Expr):
    """`(x[k, h-1] else was[k])`: `fallback` where the subscript falls outside the declared index set."""

    reference: Subscript
    fallback: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryExpr(Expr):
    """`op` is one of `-`, `+`, `not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Expr):
    """`op` is one of `+ - * / ^ and or => <=> in "not in" union inter diff cross`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Expr):
    """A chain: `a <= x <= b` has operands (a, x, b) and ops ("<=", "<="). Ops: `== != <= >= < >`."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional(Expr):
    """`if condition then a else b`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArgument(Node):
    name: Identifier
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Expr):
    """`max(a, b)`, `count(Jobs)`, `exponential(mean = 40[epoch])`."""

    function: Identifier
    arguments: tuple[Expr, ...] = ()
    named: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation(Expr):
    """`E(body given condition)` or `P(...)`."""

    op: str
    body: Expr
    given: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Node):
    """One iterator of an index list.

    `j in Jobs` names ("j",); `(v, g) in Configs` names ("v", "g") with `is_tuple`; `Types` alone names nothing.
    A name `_` ignores that component. In a tuple, a name that is known outside and an expression select: `fixed` has
    the expressions by component, their names are `_`.
    """

    names: tuple[Identifier, ...]
    is_tuple: bool
    domain: Expr
    fixed: tuple[Expr | None, ...] = ()

    def fixed_at(self, component: int) -> Expr | None:
        return self.fixed[component] if self.fixed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing(Node):
    """`[j in Jobs, (v, g) in Configs where condition]`, brackets included in the span when they are there."""

    indices: tuple[Index, ...]
    where: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Expr):
    """`op` is one of `sum prod min max norm any all count argmin argmax`. `count[...]` may lack a body."""

    op: str
    indexing: Indexing
    body: Expr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleExpr(Expr):
    """`(v, g)`, two or more items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLiteral(Expr):
    """`{ n1, n2 }`, `{ ("a", 1), ("b", 2) }`, `{}`. In scenario data a bare Name item is an element label."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayExpr(Expr):
    """`[4, 2, 3][h]`, `[[1, 2], [3, 4]]`: values in the order of index sets; only in a scenario."""

    items: tuple[Expr, ...]
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comprehension(Expr):
    """`{ (v, g) : v in Types, g in 1..gpus[v] where c }`; a projection is a comprehension too."""

    element: Expr
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(Expr):
    """`low..high`, both included, or `low..high by step`."""

    low: Expr
    high: Expr
    step: Expr | None = None


# --- declarations of a model -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Node):
    """Any element of a block that ends in `;` (or `}`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound(Node):
    """`>= 0`, `<= limit`, `> 0`, `== 3` after a declaration."""

    op: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDecl(Statement):
    """`set Nodes "doc" identical by class within Machines ordered;`, `set Configs = {...};`.

    `set Pred[j in Jobs] within Jobs;` has an `indexing`.
    """

    name: Identifier
    indexing: Indexing | None = None
    doc: str | None = None
    ordered: bool = False
    identical: bool = False
    identical_by: Identifier | None = None
    within: Expr | None = None
    value: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamDecl(Statement):
    """`kind` is `real`, `integer`, `binary` or `symbol`; `within S` declares an element-valued parameter."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    kind: str = "real"
    within: Expr | None = None
    bounds: tuple[Bound, ...] = ()
    default: Expr | None = None
    value: Expr | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetDecl(Statement):
    name: Identifier
    value: Expr
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDecl(Statement):
    """`report late in h = sum[j in Jobs] tardiness[j];`: an expression that is evaluated at every solution."""

    name: Identifier
    value: Expr
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VarDecl(Statement):
    """`kind` is `real`, `integer` or `binary`; `semicontinuous`: 0 or within the bounds."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    kind: str = "real"
    semicontinuous: bool = False
    bounds: tuple[Bound, ...] = ()
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDecl(Statement):
    """`random length in epoch "doc";` or `random W ~ exponential(mean = 3);`."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    distribution: Call | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveTerm(Node):
    """A named term of an objective; `name` is None in the short form `minimize f(x);`."""

    name: Identifier | None
    value: Expr
    override: bool = False
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveDecl(Statement):
    """`sense` is `minimize` or `maximize`; `then` marks a lower-priority objective."""

    sense: str
    terms: tuple[ObjectiveTerm, ...]
    name: Identifier | None = None
    unit: UnitNode | None = None
    then: bool = False
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintDecl(Statement):
    name: Identifier
    body: Expr
    indexing: Indexing | None = None
    override: bool = False
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDecl(Statement):
    """`check [j in Jobs]: deadline[j] >= 0 "a deadline may not be negative";`."""

    condition: Expr
    indexing: Indexing | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDecl(Statement):
    """`option node_rule in { paper, force } default paper;`."""

    name: Identifier
    choices: tuple[Identifier, ...]
    default: Identifier
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class When(Statement):
    """`when node_rule == force { ... }`; `op` is `==` or `!=`. `otherwise` is the `else { ... }` part."""

    option: Identifier
    op: str
    choice: Identifier
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Statement):
    """`drop capacity, rent;`: named constraints, terms and objectives of the extended model, or its `decompose`."""

    names: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementItem(Node):
    """`job j;`, `uses g of gpus[v];`, `costs price[v] in $/h;`, `lasts exec_time[j, v, g];`."""

    role: Identifier
    value: Expr
    of: Expr | None = None
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementDecl(Statement):
    variable: Identifier
    indices: tuple[Identifier, ...]
    items: tuple[PlacementItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decompose(Statement):
    """`decompose by Batch;`: one block of variables and constraints for each element of the set `root`."""

    root: Identifier


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TopLevelBlock(Node):
    """A top-level block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import(TopLevelBlock):
    path: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBlock(TopLevelBlock):
    name: Identifier
    statements: tuple[Statement, ...]
    extends: Identifier | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(Statement):
    """`period = 1[h];`, `Nodes = { n1, n2 };`, `weight["j1"] = 3[$/h];`, `node_rule = force;`.

    `deadline[j in Jobs, "n1"] = 2 * length[j];` has an `indexing` instead of `subscripts`; an index of it without
    names is a fixed subscript.
    """

    target: Identifier
    value: Expr
    subscripts: tuple[Expr, ...] = ()
    indexing: Indexing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn(Node):
    name: Identifier
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell(Node):
    """`value` is None for `.` (not given). A bare name or a string is text; `true` and `false` are truth values."""

    value: float | str | bool | None

    @property
    def label(self) -> str | int | None:
        """The cell as a label: a bare or quoted text, an integer, or any other number as the author wrote it."""
        if isinstance(self.value, bool):
            return self.span.text
        if isinstance(self.value, str) or self.value is None:
            return self.value
        return int(self.value) if self.value.is_integer() else self.span.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCell(TableCell):
    """`{ j1 j2 }`: the elements of an indexed set in a cell of a table; `value` is None."""

    items: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Statement):
    """`table Types: gpus price[$/h] = v1 4 0.2  v2 4 0.3;`: key sets, columns, cells row by row, keys first."""

    keys: tuple[Identifier, ...]
    columns: tuple[TableColumn, ...]
    cells: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixLabel(TableCell):
    """A label in the head of a matrix; `bare` before the `:` is the name of a set."""

    bare: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTable(Statement):
    """`table time[Jobs, Machines] in h: m1 m2 = a 1 2  b 3 4;`: the labels of the columns, then the cells by rows.

    `keys` has the name of a set for subscripts that run over rows and columns, and a label for a fixed subscript.
    """

    target: Identifier
    keys: tuple[MatrixLabel, ...]
    columns: tuple[MatrixLabel, ...]
    cells: tuple[TableCell, ...]
    unit: UnitNode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataColumn(Node):
    """A column of a file: `seconds[s]`, `"On-demand ($/h)"[$/h]`; `function` is an aggregate such as `mean`."""

    name: str
    unit: UnitNode | None = None
    function: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey(Node):
    """A key column `job`, or a derived key `slot(time, 15[min])` (`function` and `arguments`)."""

    column: str
    function: Identifier | None = None
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataItem(Node):
    """`exec_time[job, type] = seconds[s];` for a parameter; `Jobs = job;`, `F = (job, type);` for a set.

    For a set `keys` is empty and `columns` names its component columns; `function` `distinct` allows repeats.
    """

    target: Identifier
    keys: tuple[DataKey, ...]
    columns: tuple[DataColumn, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Data(Statement):
    """`data "file.csv" { ... }`, with `table "jobs"` of a database, or `as philly (first = 100)`: in that format."""

    path: Text
    items: tuple[DataItem, ...]
    table: Text | None = None
    format: Identifier | None = None
    options: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Statement):
    """`generate capacity_jobs (jobs = 40, seed = 1) { Jobs = job; deadline[job] = deadline[h]; }`."""

    generator: Identifier
    items: tuple[DataItem, ...]
    options: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw(Statement):
    """`length ~ exponential(mean = 40[epoch]);`."""

    target: Identifier
    distribution: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(TopLevelBlock):
    """`scenario B for M extends A { ... }`; with `extends`, `for M` may be left out."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCall(Node):
    """`highs`, `scip (gap = 0.01)`, `Greedy`."""

    name: Identifier
    settings: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Solve(Statement):
    """`solve CP6 (node_rule = at_most, idle_penalty = 0.3[$]) with highs, scip (gap = 0);`."""

    scenario: Identifier
    settings: tuple[NamedArgument, ...] = ()
    methods: tuple[MethodCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Statement):
    """`expect total == 5.0 within 1e-6;` (`within`: absolute tolerance in the unit of the left side)."""

    condition: Expr
    tolerance: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test(TopLevelBlock):
    """Each `solve` is followed by the `expect`s that its answers must meet."""

    name: Identifier
    statements: tuple[Statement, ...]
    doc: str | None = None


# --- policies and online ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Node):
    value: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Node):
    """A rule by name with its modifiers: `best_fit`, `new_node exclusive`, `swap_tardy(5)`, `grow by speedup`.

    `by` is a word, `key` an expression: `sort by time[j, g] descending`. At most one of them is there.
    """

    words: tuple[Identifier, ...]
    arguments: tuple[Expr, ...] = ()
    by: Identifier | None = None
    key: Key | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule(Statement):
    """One line of a policy.

    `verb` is `order`, `choose`, `otherwise`, `place`, `finish`, `keep`, `randomise`, `repeat`, `improve` or `split`; in
    policies for slots also `occupies`, `reserve`, `serve` or `fix`; for the online loop `remember` or `again`.
    order/choose/otherwise fill `indexing` (None: all ways of the placement) and `keys`; place/finish/keep/improve fill
    `rules`; randomise has `target` (`order`, `choose`, `place`), `count` (`from 3`) or `probability`, and `by` words;
    repeat has `count` and `rules` (what is kept); improve has `count`, `rules` and `rounds`, or `all_rounds` for
    `rounds all`; split has `count`. occupies has `value` (how many slots); reserve and serve have `indexing`, `value`
    (a load) and one of `rules`; fix has `indexing` and `value`; the `target` of serve and fix is a variable.
    remember has `target` (a parameter) and `value`; again has `value` (a time) and maybe `condition`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePart(Node):
    """`speed speed[j, t, g];`, `queue submitted[j], weight[j] descending;`, `uses g of gpus[t];`."""

    role: Identifier
    keys: tuple[Key, ...]
    of: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStage(Statement):
    """`profile plan[j in Jobs, t in Types] over (g, u) in Rungs { ... }`; `verb` is `profile` or `admit`."""

    verb: str
    name: Identifier
    indexing: Indexing
    over: Indexing
    parts: tuple[StagePart, ...]
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(TopLevelBlock):
    """Statements are `LetDecl`, `PolicyStage` and `PolicyRule`."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Statement):
    """`window h in Slots lookahead 96 commit 4;`."""

    index: Index
    lookahead: Expr
    commit: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive(Statement):
    """`arrive j in Jobs at submitted[j];`."""

    index: Index
    at: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger(Node):
    """`arrival`, `completion`, or `every period` / `every 4 slots` (`every` set, `unit` the next word)."""

    event: Identifier | None = None
    every: Expr | None = None
    unit: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replan(Statement):
    """`replan on arrival, completion, every period;`."""

    triggers: tuple[Trigger, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry(Statement):
    """`carry deadline[j] = deadline[j] - now;`."""

    target: Identifier
    indices: tuple[Identifier, ...]
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackPolicy(Statement):
    """`fallback Greedy;`: the policy that decides where a solver found no plan in time."""

    policy: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressLine(Statement):
    """One line about the real progress: `work epochs[b];`, `speed ...;`, `ends at length[j];`, `stretch ...;`.

    `verb` is `work`, `speed`, `ends` or `stretch`.
    """

    verb: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Statement):
    """`on migration delay 5[min] costs 0.1[$];`."""

    event: Identifier
    delay: Expr | None = None
    costs: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage(Statement):
    """`outage n in Nodes every exponential(mean = 500[h]) lasting deterministic(2[h]);`."""

    index: Index
    every: Expr
    lasting: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Statement):
    """`charge nodes;`, `charge energy[k in Nodes] in $ = ...;`."""

    name: Identifier
    indexing: Indexing | None = None
    unit: UnitNode | None = None
    value: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Online(TopLevelBlock):
    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    extends: Identifier | None = None
    doc: str | None = None


# --- campaigns --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Vary(Statement):
    """`vary seed in 1..5;`, `vary (nodes, jobs) in { (2, 20), (4, 40) };`."""

    index: Index


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude(Statement):
    """`exclude size > 20 and method == highs;`."""

    condition: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorOptions(Statement):
    """`generate capacity_jobs (jobs = 10 * size, seed = seed);`: of a generator or data format of the scenarios."""

    generator: Identifier
    options: tuple[NamedArgument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPath(Statement):
    """`data "jobs.csv" = trace;`: another file in place of one that the scenarios read."""

    path: Text
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class GridMethod(Node):
    """`highs (gap = tolerance) as Exact`."""

    name: Identifier
    settings: tuple[NamedArgument, ...] = ()
    alias: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRuns(Statement):
    """`solve S with highs, Greedy;` or `run S, T online Rolling with Greedy;`; `verb` is `solve` or `run`."""

    verb: str
    scenarios: tuple[Identifier, ...]
    online: Identifier | None = None
    methods: tuple[GridMethod, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Statement):
    """`measure total, makespan;`: the columns of the exported results."""

    names: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign(TopLevelBlock):
    """Statements are those above, and `Assign`, read as in a scenario."""

    name: Identifier
    statements: tuple[Statement, ...]
    model: Identifier | None = None
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """One parsed text.

    `lost` are the names of blocks and declarations that a syntax error keeps out of `blocks`: a reference to one of
    them needs no complaint of its own. `damaged` are the blocks that lack a statement for the same reason: that they
    lack something needs none either. `unread` is true when nothing of the text could be read.
    """

    source: Source
    blocks: tuple[TopLevelBlock, ...]
    lost: tuple[Identifier, ...] = ()
    damaged: tuple[Identifier, ...] = ()
    unread: bool = False
