"""Parse trees of expressions, indices and units to nodes of the syntax tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from lark import Token, Tree

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Source, Span

ParseTree: TypeAlias = Tree[Token]
Child: TypeAlias = "Token | Tree[Token] | None"
Children: TypeAlias = "Sequence[Child]"

MAX_EXPONENT = 99
# Whole numbers beyond this are not all representable; a job number read as its neighbour must not happen.
MAX_WHOLE = 2**53

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


class ExpressionBuilder:
    """Builds expressions of one source; reports errors beyond syntax to `diagnostics`."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics
        self._expressions: dict[str, Callable[[Children, Span], tree.Expr]] = {
            "conditional": self._conditional,
            "binary": self._binary,
            "unary": self._unary,
            "chain": self._chain,
            "membership": self._membership,
            "integer_range": self._range,
            "aggregate": self._aggregate,
            "cumulative": self._cumulative,
            "number": self._number,
            "text": self._text,
            "truth": self._truth,
            "name": self._name,
            "subscript": self._subscript,
            "call": self._call,
            "otherwise": self._otherwise,
            "tuple": self._tuple,
            "set_literal": self._set_literal,
            "comprehension": self._comprehension,
            "selection": self._selection,
        }

    # --- shared -----------------------------------------------------------------------------------------------------

    def span(self, child: Child) -> Span:
        if isinstance(child, Token):
            return self.source.span(child.start_pos or 0, child.end_pos or 0)
        assert child is not None
        return self.source.span(child.meta.start_pos, child.meta.end_pos)

    def identifier(self, child: Child) -> tree.Identifier:
        return tree.Identifier(span=self.span(child), text=str(child))

    def expr(self, child: Child) -> tree.Expr:
        assert isinstance(child, Tree)
        return self._expressions[child.data](child.children, self.span(child))

    def optional(self, child: Child) -> tree.Expr | None:
        return None if child is None else self.expr(child)

    def exprs(self, children: Iterable[Child]) -> tuple[tree.Expr, ...]:
        return tuple(self.expr(c) for c in children if c is not None)

    def string(self, token: Child) -> str:
        """The text between the quotes."""
        assert isinstance(token, Token)
        raw = str(token)[1:-1]
        if "\\" not in raw:
            return raw
        parts: list[str] = []
        characters = iter(enumerate(raw))
        for i, c in characters:
            if c != "\\":
                parts.append(c)
                continue
            _, escaped = next(characters, (i, "\\"))
            if escaped not in _ESCAPES:
                start = (token.start_pos or 0) + 1 + i
                self.diagnostics.error(
                    "GSM1006",
                    f"`\\{escaped}` is not an escape sequence",
                    self.source.span(start, min(start + 2, len(self.source.text))),
                    help='escape sequences are `\\"`, `\\\\`, `\\n` and `\\t`',
                )
            parts.append(_ESCAPES.get(escaped, escaped))
        return "".join(parts)

    def number_value(self, token: Token) -> tuple[float, bool]:
        """Return the value of a number literal, and whether it is written as an integer."""
        text = str(token)
        whole = text.isdecimal()
        digits = text.lstrip("0")
        value = float(text)
        problem = None
        if math.isinf(value):
            problem = "is too large"
        elif value == 0 and any(c in "123456789" for c in text.lower().partition("e")[0]):
            problem = "is too small: it would be read as 0"
        elif whole and (len(digits) > len(str(MAX_WHOLE)) or int(digits or "0") > MAX_WHOLE):
            problem = "has too many digits to be exact"
        if problem is not None:
            shown = text if len(text) <= 24 else f"{text[:10]}…{text[-6:]}"
            self.diagnostics.error(
                "GSM1007",
                f"the number `{shown}` {problem}",
                self.span(token),
                help="choose a unit with numbers of ordinary size; quote it if it is the label of an element",
            )
            value = 0.0
        return value, whole

    # --- operators --------------------------------------------------------------------------------------------------

    def _conditional(self, children: Children, span: Span) -> tree.Expr:
        condition, then, otherwise = self.exprs(children)
        return tree.Conditional(span=span, condition=condition, then=then, otherwise=otherwise)

    def _binary(self, children: Children, span: Span) -> tree.Expr:
        left, op, right = children
        return tree.Binary(span=span, op=str(op), left=self.expr(left), right=self.expr(right))

    def _unary(self, children: Children, span: Span) -> tree.Expr:
        op, operand = children
        return tree.UnaryExpr(span=span, op=str(op), operand=self.expr(operand))

    def _chain(self, children: Children, span: Span) -> tree.Expr:
        return tree.Compare(span=span, operands=self.exprs(children[::2]), ops=tuple(str(c) for c in children[1::2]))

    def _membership(self, children: Children, span: Span) -> tree.Expr:
        left, negated, right = children
        op = "in" if negated is None else "not in"
        return tree.Binary(span=span, op=op, left=self.expr(left), right=self.expr(right))

    def _range(self, children: Children, span: Span) -> tree.Expr:
        low, high, step = children
        return tree.Range(span=span, low=self.expr(low), high=self.expr(high), step=self.optional(step))

    def _aggregate(self, children: Children, span: Span) -> tree.Expr:
        op, indexing, body = children
        return tree.Aggregate(span=span, op=str(op), indexing=self.indexing(indexing), body=self.optional(body))

    def _cumulative(self, children: Children, span: Span) -> tree.Expr:
        op, indexing, body, _, limit = children
        return tree.Aggregate(
            span=span, op=str(op), indexing=self.indexing(indexing), body=self.expr(body), limit=self.expr(limit)
        )

    # --- atoms ------------------------------------------------------------------------------------------------------

    def _number(self, children: Children, span: Span) -> tree.Expr:
        token, unit = children
        assert isinstance(token, Token)
        value, whole = self.number_value(token)
        return tree.Number(span=span, value=value, is_integer=whole, unit=self.optional_unit(unit))

    def _text(self, children: Children, span: Span) -> tree.Expr:
        return tree.Text(span=span, value=self.string(children[0]))

    def _truth(self, children: Children, span: Span) -> tree.Expr:
        return tree.Boolean(span=span, value=str(children[0]) == "true")

    def _name(self, children: Children, span: Span) -> tree.Expr:
        return tree.Name(span=span, text=str(children[0]))

    def _subscript(self, children: Children, span: Span) -> tree.Subscript:
        name, subscripts = children
        return tree.Subscript(span=span, name=self.identifier(name), subscripts=self.subscripts(subscripts))

    def subscripts(self, child: Child) -> tuple[tree.Expr, ...]:
        return self.exprs(child.children) if isinstance(child, Tree) else ()

    def call(self, child: Child) -> tree.Call:
        """A call that must be an ordinary one, such as a distribution."""
        assert isinstance(child, Tree)
        return self._plain_call(child.children, self.span(child))

    def _plain_call(self, children: Children, span: Span) -> tree.Call:
        function, arguments = children
        assert isinstance(arguments, Tree)
        positional: list[tree.Expr] = []
        named: list[tree.NamedArgument] = []
        for argument in arguments.children:
            if argument is None:
                continue
            assert isinstance(argument, Tree)
            if argument.data == "setting":
                named.append(self.setting(argument))
            elif argument.data == "given":
                self.diagnostics.error(
                    "GSM1024", "`given` is allowed only in `E(...)` and `P(...)`", self.span(argument)
                )
            else:
                positional.append(self.expr(argument))
        name = self.identifier(function)
        return tree.Call(span=span, function=name, arguments=tuple(positional), named=tuple(named))

    def _call(self, children: Children, span: Span) -> tree.Expr:
        function, arguments = children
        assert isinstance(arguments, Tree)
        kinds = [a.data for a in arguments.children if isinstance(a, Tree)]
        plain = [k for k in kinds if k not in ("setting", "given")]
        if str(function) in ("E", "P") and len(plain) == 1 and "setting" not in kinds:
            body, *rest = (a for a in arguments.children if isinstance(a, Tree))
            given = rest[0].children[0] if rest else None
            return tree.Expectation(span=span, op=str(function), body=self.expr(body), given=self.optional(given))
        return self._plain_call(children, span)

    def setting(self, child: Child) -> tree.NamedArgument:
        assert isinstance(child, Tree)
        name, value = child.children
        return tree.NamedArgument(span=self.span(child), name=self.identifier(name), value=self.expr(value))

    def _otherwise(self, children: Children, span: Span) -> tree.Expr:
        reference, fallback = children
        assert isinstance(reference, Tree)
        return tree.Otherwise(
            span=span,
            reference=self._subscript(reference.children, self.span(reference)),
            fallback=self.expr(fallback),
        )

    def _tuple(self, children: Children, span: Span) -> tree.Expr:
        return tree.TupleExpr(span=span, items=self.exprs(children))

    # --- sets and indices -------------------------------------------------------------------------------------------

    def _set_literal(self, children: Children, span: Span) -> tree.Expr:
        return tree.SetLiteral(span=span, items=self.exprs(children))

    def _comprehension(self, children: Children, span: Span) -> tree.Expr:
        element, indexing = children
        return tree.Comprehension(span=span, element=self.expr(element), indexing=self.indexing(indexing))

    def _selection(self, children: Children, span: Span) -> tree.Expr:
        """Read `{ j in Jobs where c }`: the comprehension with its own indices as elements."""
        *items, where = children
        assert isinstance(where, Tree)
        indices: list[tree.Index] = []
        names: list[tree.Expr] = []
        for item in items:
            assert isinstance(item, Tree)
            index = self.index_of_membership(self.expr(item), self.span(item))
            indices.append(index)
            names += [index.fixed_at(at) or tree.Name(span=n.span, text=n.text) for at, n in enumerate(index.names)]
            if not index.names:
                self.diagnostics.error(
                    "GSM1021",
                    "a selection needs a name for its elements",
                    index.span,
                    help="write `{ j in Jobs where ... }`",
                )
        indexing = tree.Indexing(
            span=indices[0].span.to(self.span(where)),
            indices=tuple(indices),
            where=self.expr(where.children[0]),
        )
        element: tree.Expr
        if len(names) == 1:
            element = names[0]
        else:
            element = tree.TupleExpr(span=indices[0].span.to(indices[-1].span), items=tuple(names))
        return tree.Comprehension(span=span, element=element, indexing=indexing)

    def index_of_membership(self, item: tree.Expr, span: Span) -> tree.Index:
        if isinstance(item, tree.Binary) and item.op == "in":
            return self._named_index(item.left, item.right, span)
        return tree.Index(span=span, names=(), is_tuple=False, domain=item)

    def indexing(self, child: Child) -> tree.Indexing:
        assert isinstance(child, Tree)
        indices: list[tree.Index] = []
        where: tree.Expr | None = None
        for part in child.children:
            if not isinstance(part, Tree):
                continue
            if part.data == "where":
                where = self.expr(part.children[0])
            else:
                indices.append(self._list_index(part))
        return tree.Indexing(span=self.span(child), indices=tuple(indices), where=where)

    def optional_indexing(self, child: Child) -> tree.Indexing | None:
        return None if child is None else self.indexing(child)

    def index(self, child: Child) -> tree.Index:
        """An index that has a statement of its own: all its components are new."""
        index = self._list_index(child)
        for expr in index.fixed:
            if expr is not None:
                self._report_unnamed(expr)
        return index

    def _list_index(self, child: Child) -> tree.Index:
        assert isinstance(child, Tree)
        left, domain = child.children
        if domain is None:
            return tree.Index(span=self.span(child), names=(), is_tuple=False, domain=self.expr(left))
        return self._named_index(self.expr(left), self.expr(domain), self.span(child))

    def _named_index(self, left: tree.Expr, domain: tree.Expr, span: Span) -> tree.Index:
        is_tuple = isinstance(left, tree.TupleExpr)
        items = left.items if isinstance(left, tree.TupleExpr) else (left,)
        fixed = tuple(None if isinstance(item, tree.Name) else item for item in items)
        names = tuple(
            tree.Identifier(span=item.span, text=item.text if isinstance(item, tree.Name) else "_") for item in items
        )
        if not is_tuple and fixed[0] is not None:
            self._report_unnamed(fixed[0])
        selects = is_tuple and any(item is not None for item in fixed)
        return tree.Index(span=span, names=names, is_tuple=is_tuple, domain=domain, fixed=fixed if selects else ())

    def _report_unnamed(self, item: tree.Expr) -> None:
        self.diagnostics.error(
            "GSM1021",
            f"an index must be a name; `{_clip(item.span.text)}` is not a name",
            item.span,
            help="write `j in Jobs` or `(v, g) in Configs`, and state conditions with `where`",
        )

    # --- units ------------------------------------------------------------------------------------------------------

    def optional_unit(self, child: Child) -> tree.UnitNode | None:
        return None if child is None else self.unit(child)

    def unit(self, child: Child) -> tree.UnitNode:
        assert isinstance(child, Tree)
        factors: list[tree.UnitFactor] = []
        self._factors(child.children[0], 1, factors)
        return tree.UnitNode(span=self.span(child), factors=tuple(factors))

    def _factors(self, child: Child, sign: int, factors: list[tree.UnitFactor]) -> None:
        assert isinstance(child, Tree)
        if child.data == "unit_symbol":
            factors.append(tree.UnitFactor(span=self.span(child), symbol=str(child.children[0]), exponent=sign))
        elif child.data == "unit_one":
            if str(child.children[0]) != "1":
                self.diagnostics.error(
                    "GSM1022",
                    f"`{child.children[0]}` is not a unit; the only number in a unit is `1`",
                    self.span(child),
                    help="put the factor into the value: `2 * 15[min]`",
                )
        elif child.data == "unit_product":
            left, op, right = child.children
            self._factors(left, sign, factors)
            self._factors(right, -sign if str(op) == "/" else sign, factors)
        else:
            base, _, minus, number = child.children
            text = str(number)
            small = text.isdecimal() and len(text) <= 4
            if not small or not 0 < int(text) * abs(sign) <= MAX_EXPONENT:
                self.diagnostics.error(
                    "GSM1022",
                    f"an exponent in a unit must be an integer from 1 to {MAX_EXPONENT}",
                    self.span(number),
                )
                return
            exponent = -int(text) if minus is not None else int(text)
            self._factors(base, sign * exponent, factors)


def _clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 30 else text[:29] + "…"
