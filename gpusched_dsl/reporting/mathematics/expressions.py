"""Expressions of the syntax tree as LaTeX mathematics, with brackets where precedence requires them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gpusched_dsl.language import tree
from gpusched_dsl.reporting.mathematics.symbols import number, set_symbol, symbol, unit, word

# Precedences; an operand of lower precedence gets brackets.
IMPLIES, OR, AND, NOT, COMPARE, SUM, OVER, PRODUCT, SIGN, POWER, ATOM = range(11)

_BINARY: dict[str, tuple[str, int, int, int]] = {  # sign, own level, levels of the left and right operand
    "+": (" + ", SUM, SUM, OVER),
    "-": (" - ", SUM, SUM, OVER),
    "*": (r" \, ", PRODUCT, PRODUCT, SIGN),
    "mod": (r" \bmod ", PRODUCT, PRODUCT, SIGN),
    "and": (r" \wedge ", AND, AND, NOT),
    "or": (r" \vee ", OR, OR, AND),
    "=>": (r" \Rightarrow ", IMPLIES, OR, OR),
    "<=>": (r" \Leftrightarrow ", IMPLIES, OR, OR),
    "in": (r" \in ", COMPARE, SUM, SUM),
    "not in": (r" \notin ", COMPARE, SUM, SUM),
    "union": (r" \cup ", SUM, SUM, OVER),
    "inter": (r" \cap ", PRODUCT, PRODUCT, SIGN),
    "diff": (r" \setminus ", SUM, SUM, OVER),
    "cross": (r" \times ", PRODUCT, PRODUCT, SIGN),
}
_COMPARE = {"==": "=", "!=": r"\neq", "<=": r"\leq", ">=": r"\geq", "<": "<", ">": ">"}
_OVER = {
    "sum": r"\sum", "prod": r"\prod", "min": r"\min", "max": r"\max", "any": r"\bigvee", "all": r"\bigwedge",
    "all_different": r"\operatorname*{all\,different}",
    "sos1": r"\operatorname*{SOS1}", "sos2": r"\operatorname*{SOS2}",
    "no_overlap": r"\operatorname*{no\,overlap}", "cumulative": r"\operatorname*{cumulative}",
    "argmin": r"\operatorname*{arg\,min}", "argmax": r"\operatorname*{arg\,max}",
}  # fmt: skip
_PAIRS = {
    "abs": (r"\left|", r"\right|"),
    "count": (r"\left|", r"\right|"),
    "card": (r"\left|", r"\right|"),
    "floor": (r"\left\lfloor ", r"\right\rfloor"),
    "ceil": (r"\left\lceil ", r"\right\rceil"),
    "sqrt": (r"\sqrt{", "}"),
}
NEW_LINE = r" \\ "
_FUNCTIONS = frozenset(("min", "max", "exp", "log"))


class Formulas:
    """Writes the expressions of one model; `sets` are the names that are sets."""

    def __init__(self, sets: Collection[str]) -> None:
        self.sets = sets

    def of(self, expr: tree.Expr, level: int = IMPLIES) -> str:
        """Return the expression, in brackets if its precedence is below `level`."""
        write: Callable[[tree.Expr], tuple[str, int]] = getattr(self, f"_{type(expr).__name__}")
        text, own = write(expr)
        return text if own >= level else rf"\left({text}\right)"

    def name(self, text: str) -> str:
        return set_symbol(text) if text in self.sets else symbol(text)

    def with_subscripts(self, name: str, subscripts: tuple[str, ...]) -> str:
        return self.name(name) + (rf"_{{{', '.join(subscripts)}}}" if subscripts else "")

    # --- index lists -------------------------------------------------------------------------------------------------

    def iterators(self, indexing: tree.Indexing, separator: str = r",\ ") -> str:
        r"""`j \in Jobs, g \in 1..G : condition`; iterators over the same set are joined."""
        parts: list[str] = []
        before: tuple[str, str] | None = None
        for index in indexing.indices:
            domain = self.of(index.domain)
            names = self.index_names(index)
            element = ", ".join(names) if not index.is_tuple else f"({', '.join(names)})"
            if before is not None and before[1] == domain and not index.is_tuple and names:
                parts[-1] = rf"{before[0]}, {element} \in {domain}"
                before = (f"{before[0]}, {element}", domain)
            else:
                parts.append(rf"{element} \in {domain}" if names else domain)
                before = (element, domain) if names and not index.is_tuple else None
        text = separator.join(parts)
        return text if indexing.where is None else rf"{text} \,:\, {self.of(indexing.where)}"

    def index_names(self, index: tree.Index) -> list[str]:
        """The names of an index; components that select are expressions."""
        fixed = [index.fixed_at(at) for at in range(len(index.names))]
        return [symbol(n.text) if e is None else self.of(e) for n, e in zip(index.names, fixed, strict=True)]

    # --- one method per kind of node: the text and its precedence ----------------------------------------------------

    def _Number(self, expr: tree.Number) -> tuple[str, int]:
        text = number(expr.value, expr.is_integer)
        return (rf"{text}\,{unit(expr.unit)}", PRODUCT) if expr.unit is not None else (text, ATOM)

    def _Text(self, expr: tree.Text) -> tuple[str, int]:
        return word(expr.value), ATOM

    def _Boolean(self, expr: tree.Boolean) -> tuple[str, int]:
        return word("true" if expr.value else "false"), ATOM

    def _Name(self, expr: tree.Name) -> tuple[str, int]:
        return self.name(expr.text), ATOM

    def _Subscript(self, expr: tree.Subscript) -> tuple[str, int]:
        return self.with_subscripts(expr.name.text, tuple(self.of(s) for s in expr.subscripts)), ATOM

    def _Otherwise(self, expr: tree.Otherwise) -> tuple[str, int]:
        return rf"\left[{self.of(expr.reference)} \text{{ else }} {self.of(expr.fallback)}\right]", ATOM

    def _UnaryExpr(self, expr: tree.UnaryExpr) -> tuple[str, int]:
        if expr.op == "not":
            return rf"\neg {self.of(expr.operand, NOT)}", NOT
        return f"{expr.op}{self.of(expr.operand, SIGN)}", SIGN

    def _Binary(self, expr: tree.Binary) -> tuple[str, int]:
        if expr.op == "/":
            return rf"\frac{{{self.of(expr.left)}}}{{{self.of(expr.right)}}}", SIGN
        if expr.op == "div":
            return rf"\left\lfloor \frac{{{self.of(expr.left)}}}{{{self.of(expr.right)}}} \right\rfloor", ATOM
        if expr.op == "^":
            return rf"{self.of(expr.left, ATOM)}^{{{self.of(expr.right)}}}", POWER
        sign, own, left, right = _BINARY[expr.op]
        if expr.op == "*" and isinstance(expr.left, tree.Aggregate):
            left = SIGN  # a factor behind a sum would be read as part of it
        last = self.of(expr.right, OVER if expr.op == "*" and isinstance(expr.right, tree.Aggregate) else right)
        if expr.op == "*" and last[:1].isdigit():
            sign = r" \cdot "
        return f"{self.of(expr.left, left)}{sign}{last}", own

    def _Compare(self, expr: tree.Compare) -> tuple[str, int]:
        text = self.of(expr.operands[0], SUM)
        for op, operand in zip(expr.ops, expr.operands[1:], strict=True):
            text += f" {_COMPARE[op]} {self.of(operand, SUM)}"
        return text, COMPARE

    def _Conditional(self, expr: tree.Conditional) -> tuple[str, int]:
        branches = []
        rest: tree.Expr = expr
        while isinstance(rest, tree.Conditional):
            branches.append(rf"{self.of(rest.then)} & \text{{if }} {self.of(rest.condition)}")
            rest = rest.otherwise
        branches.append(rf"{self.of(rest)} & \text{{otherwise}}")
        return rf"\begin{{cases}} {NEW_LINE.join(branches)} \end{{cases}}", ATOM

    def _Call(self, expr: tree.Call) -> tuple[str, int]:
        name = expr.function.text
        arguments = [self.of(a) for a in expr.arguments]
        arguments += [f"{symbol(a.name.text)} = {self.of(a.value)}" for a in expr.named]
        if name in _PAIRS and len(arguments) == 1:
            opening, closing = _PAIRS[name]
            return f"{opening}{arguments[0]}{closing}", ATOM
        if name == "norm":
            return rf"\left\lVert\left({', '.join(arguments)}\right)\right\rVert", ATOM
        head = f"\\{name}" if name in _FUNCTIONS else rf"\operatorname{{{name.replace('_', ' ')}}}"
        return rf"{head}\left({', '.join(arguments)}\right)", ATOM

    def _Expectation(self, expr: tree.Expectation) -> tuple[str, int]:
        inner = self.of(expr.body) + ("" if expr.given is None else rf" \,\middle|\, {self.of(expr.given)}")
        return rf"\mathbb{{{expr.op}}}\left[{inner}\right]", ATOM

    def _Aggregate(self, expr: tree.Aggregate) -> tuple[str, int]:
        below = self.iterators(expr.indexing)
        if expr.op == "count":
            body = "" if expr.body is None else rf" \,:\, {self.of(expr.body)}"
            return rf"\left|\left\{{{below}{body}\right\}}\right|", ATOM
        assert expr.body is not None
        if expr.op == "norm":
            return rf"\left\lVert\left({self.of(expr.body)}\right)_{{{below}}}\right\rVert", ATOM
        text = rf"{_OVER[expr.op]}_{{{below}}} {self.of(expr.body, OVER)}"
        return (text, OVER) if expr.limit is None else (rf"{text} \leq {self.of(expr.limit, SUM)}", COMPARE)

    def _IntervalExpr(self, expr: tree.IntervalExpr) -> tuple[str, int]:
        start, length = self.of(expr.start, SUM), self.of(expr.length, OVER)
        text = rf"\left[{start},\ {start} + {length}\right)"
        return (text, ATOM) if expr.presence is None else (rf"{text} \text{{ if }} {self.of(expr.presence)}", IMPLIES)

    def _TupleExpr(self, expr: tree.TupleExpr) -> tuple[str, int]:
        return f"({', '.join(self.of(i) for i in expr.items)})", ATOM

    def _SetLiteral(self, expr: tree.SetLiteral) -> tuple[str, int]:
        return rf"\{{{', '.join(self.of(i) for i in expr.items)}\}}", ATOM

    def _Comprehension(self, expr: tree.Comprehension) -> tuple[str, int]:
        return rf"\left\{{{self.of(expr.element)} \,:\, {self.iterators(expr.indexing)}\right\}}", ATOM

    def _Range(self, expr: tree.Range) -> tuple[str, int]:
        step = "" if expr.step is None else rf" \text{{ by }} {self.of(expr.step)}"
        return rf"\{{{self.of(expr.low)}, \dots, {self.of(expr.high)}{step}\}}", ATOM
