"""Draws mutants: small wrong changes of the package's source, each of which some test should notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

# What decides whether an answer is right; not the command line, the writers of text and the pages.
CORE = (
    "gpusched_dsl/ir", "gpusched_dsl/compiling", "gpusched_dsl/solving", "gpusched_dsl/policies", "gpusched_dsl/online",
    "gpusched_dsl/language/checking", "gpusched_dsl/profiles", "backends",
)  # fmt: skip
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
CALLS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
    "ceil": "floor", "floor": "ceil", "flatnonzero": "atleast_1d", "argmin": "argmax", "argmax": "argmin",
}  # fmt: skip
# Their arguments are words for people, or types.
UNCHANGED = {"Diagnostic", "DiagnosticError", "ValueError", "TypeError", "cast", "TypeVar", "Secondary"}


@dataclass(frozen=True)
class Mutant:
    """A change of one place: bytes `start` to `end` of the file at `path` become `text`."""

    path: str
    line: int
    function: int  # first line of the function around it, with its decorators
    start: int
    end: int
    text: str
    was: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.was}  ->  {self.text}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def draw(root: Path, count: int, seed: int, within: tuple[str, ...] = CORE) -> list[Mutant]:
    """`count` mutants, each function at most once."""
    random = Random(seed)
    by_function: dict[tuple[str, int], list[Mutant]] = {}
    for folder in within:
        for path in sorted((root / folder).rglob("*.py")):
            for mutant in mutants(path.read_bytes(), str(path.relative_to(root))):
                by_function.setdefault((mutant.path, mutant.function), []).append(mutant)
    chosen = random.sample(sorted(by_function), min(count, len(by_function)))
    return [random.choice(by_function[key]) for key in chosen]


def mutants(source: bytes, path: str) -> Iterator[Mutant]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    for function, node, text in _changes(ast.parse(source)):
        start, end = place(node)
        was = source[start:end].decode()
        if "\n" not in was and was != text:
            yield Mutant(path, node.lineno, function, start, end, text, was)


def _changes(tree: ast.Module) -> Iterator[tuple[int, ast.expr | ast.stmt, str]]:
    """The function around each place, the expression or statement, and what it becomes."""

    def visit(node: ast.AST, function: int) -> Iterator[tuple[int, ast.expr | ast.stmt, str]]:
        if isinstance(node, ast.FunctionDef):
            function = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            for statement in node.body:
                yield from visit(statement, function)
            return
        if isinstance(node, ast.Call) and _name(node.func) in UNCHANGED:
            return
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert) or _is_for_types(node):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from visit(node.value, function)
            return
        if function and isinstance(node, ast.expr):
            yield from ((function, node, text) for text in _replacements(node))
        if function:
            yield from ((function, *change) for change in _omissions(node))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(tree, 0)


def _replacements(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in COMPARISONS:
            yield f"({ast.unparse(left)} {COMPARISONS[type(op)]} {ast.unparse(right)})"
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not _is_text(left) and not _is_text(right):
            yield f"({_inner(left)} {ARITHMETIC[type(op)]} {_inner(right)})"
        case ast.BoolOp(op, [first, *others]):
            word = "or" if isinstance(op, ast.And) else "and"
            yield "(" + f" {word} ".join(_inner(value) for value in [first, *others]) + ")"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.UnaryOp(ast.USub() | ast.Invert(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, orelse):
            yield f"({ast.unparse(orelse)} if {ast.unparse(test)} else {ast.unparse(body)})"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() | float() as value):
            yield repr(value + 1)
        case ast.Call(function, arguments, keywords) if (name := _name(function)) in CALLS:
            other = ast.unparse(function).removesuffix(name) + CALLS[name]
            given = [ast.unparse(a) for a in arguments] + [f"{k.arg}={ast.unparse(k.value)}" for k in keywords if k.arg]
            yield f"{other}({', '.join(given)})"


def _omissions(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Conditions negated; statements, values to return and arguments by name left out."""
    match node:
        case ast.If(test=condition) | ast.While(test=condition):
            yield condition, f"not {_inner(condition)}"
        case ast.Return(ast.expr()):
            yield node, "return None"
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Continue():
            yield node, "pass"
        case ast.Call(keywords=[*_, ast.keyword(str())]):
            last = node.keywords[-1]
            yield node, ast.unparse(ast.Call(node.func, node.args, [k for k in node.keywords if k is not last]))


def _inner(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING"
