"""Parse trees of the statements of scenarios, tests, policies and online blocks to nodes of the syntax tree."""

from __future__ import annotations

from lark import Token, Tree
from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.builder_declarations import DeclarationBuilder
from gpusched_dsl.language.parsing.builder_expressions import Child, Children, ParseTree
from gpusched_dsl.language.source import Source, Span


class RunBuilder(DeclarationBuilder):
    """Builds the content of the blocks that use a model."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        super().__init__(source, diagnostics)
        self.statement_builders |= {
            "assign": self._assign,
            "draw": self._draw,
            "calendar": self._calendar,
            "table": self._table,
            "matrix": self._matrix,
            "data": self._data,
            "generate": self._generate,
            "solve": self._solve,
            "expect": self._expect,
            "stage": self._stage,
            "by_keys": self._by_keys,
            "by_rules": self._by_rules,
            "randomise": self._randomise,
            "repeat": self._repeat,
            "improve": self._improve,
            "split": self._split,
            "occupies": self._occupies,
            "reserve": self._reserve,
            "serve": self._serve,
            "fix": self._fix,
            "remember": self._remember,
            "again": self._again,
            "portfolio": self._portfolio,
            "lookahead": self._lookahead,
            "futures": self._futures,
            "continue_with": self._continue_with,
            "mix": self._mix,
            "vary_plans": self._vary_plans,
            "window": self._window,
            "arrive": self._arrive,
            "replan": self._replan,
            "replan_at": self._replan_at,
            "carry": self._carry,
            "fallback": self._fallback,
            "work": self._world,
            "speed": self._world,
            "ends": self._world,
            "stretch": self._world,
            "change": self._change,
            "outage": self._outage,
            "charge": self._charge,
        }

    # --- scenarios ---------------------------------------------------------------------------------------------------

    def _assign(self, children: Children, span: Span) -> tree.Assign:
        target, brackets, value = children
        *subscripts, where = brackets.children if isinstance(brackets, Tree) else (None,)
        items = self.exprs(subscripts)
        indexing = None
        if where is not None or any(isinstance(item, tree.Binary) and item.op == "in" for item in items):
            indexing = tree.Indexing(
                span=self.span(brackets),
                indices=tuple(self.index_of_membership(item, item.span) for item in items),
                where=self.expr(where.children[0]) if isinstance(where, Tree) else None,
            )
        return tree.Assign(
            span=span,
            target=self.identifier(target),
            subscripts=items if indexing is None else (),
            indexing=indexing,
            value=self._assignment_value(value),
        )

    def _assignment_value(self, value: Child) -> tree.Expr:
        assert isinstance(value, Tree)
        if value.data != "array":
            return self.expr(value)
        *items, unit = value.children
        return tree.ArrayExpr(
            span=self.span(value),
            items=tuple(self._assignment_value(item) for item in items if item is not None),
            unit=self.optional_unit(unit),
        )

    def _draw(self, children: Children, span: Span) -> tree.Draw:
        target, distribution = children
        return tree.Draw(span=span, target=self.identifier(target), distribution=self.call(distribution))

    def _calendar(self, children: Children, span: Span) -> tree.CalendarStatement:
        start, zone, holidays = children
        listed = holidays.children if isinstance(holidays, Tree) else ()
        return tree.CalendarStatement(
            span=span,
            start=self._quoted(start),
            zone=None if zone is None else self._quoted(zone),
            holidays=tuple(self._quoted(day) for day in listed if day is not None),
            holiday_set=self.identifier(holidays) if isinstance(holidays, Token) else None,
        )

    def _quoted(self, token: Child) -> tree.Text:
        return tree.Text(span=self.span(token), value=self.string(token))

    def _table(self, children: Children, span: Span) -> tree.Table:
        keys, *parts = children
        trees = [p for p in parts if isinstance(p, Tree)]
        self._check_separation([c for c in trees if c.data != "table_column"])
        return tree.Table(
            span=span,
            keys=self.names(keys),
            columns=tuple(
                tree.TableColumn(
                    span=self.span(c), name=self.identifier(c.children[0]), unit=self.optional_unit(c.children[1])
                )
                for c in trees
                if c.data == "table_column"
            ),
            cells=tuple(self._cell(c) for c in trees if c.data != "table_column"),
        )

    def _matrix(self, children: Children, span: Span) -> tree.MatrixTable:
        target, keys, unit, columns, *cells = children
        assert isinstance(keys, Tree)
        assert isinstance(columns, Tree)
        rows = [c for c in cells if isinstance(c, Tree)]
        heads = [c for c in columns.children if isinstance(c, Tree)]
        self._check_separation(heads)
        self._check_separation(rows)
        return tree.MatrixTable(
            span=span,
            target=self.identifier(target),
            keys=tuple(self._matrix_label(k) for k in keys.children if isinstance(k, Tree)),
            columns=tuple(self._matrix_label(c) for c in heads),
            cells=tuple(self._cell(c) for c in rows),
            unit=None if unit is None else self.optional_unit(unit.children[0] if isinstance(unit, Tree) else None),
        )

    def _matrix_label(self, label: ParseTree) -> tree.MatrixLabel:
        token = label.children[-1]
        assert isinstance(token, Token)
        value: float | str = self._label(token)
        if token.type == "NUMBER":
            value = self.number_value(token)[0] * (-1 if len(label.children) > 1 else 1)
        return tree.MatrixLabel(span=self.span(label), value=value, bare=token.type == "NAME")

    def _check_separation(self, cells: list[ParseTree]) -> None:
        """Refuse touching cells, such as `n-1`, and a sign separated from its number: both are ambiguous."""
        at = 0
        while at < len(cells):
            last = at
            while last + 1 < len(cells) and cells[last + 1].meta.start_pos == cells[last].meta.end_pos:
                last += 1
            if last > at:
                self._report_touching_cells(self.span(cells[at]).to(self.span(cells[last])), len(cells[at : last + 1]))
            elif _is_negative(cells[at]):
                span = self.span(cells[at])
                if not span.text[1].isdecimal() and span.text[1] != ".":
                    self.diagnostics.error(
                        "GSM1026",
                        "this `-` is separated from its number",
                        span,
                        help="write `.` for a value that is not given, or put the `-` directly before the number",
                    )
            at = last + 1

    def _report_touching_cells(self, span: Span, count: int) -> None:
        text = span.text
        quoted = text if '"' in text else f'"{text}"'
        label = f"quote it if it is one label, `{quoted}`, or " if quoted != text else ""
        self.diagnostics.error(
            "GSM1026",
            f"`{text}` is read as {count} cells without a space between them",
            span,
            help=f"{label}put spaces between the cells",
        )

    def _cell(self, cell: ParseTree) -> tree.TableCell:
        span = self.span(cell)
        if cell.data == "empty_cell":
            return tree.TableCell(span=span, value=None)
        if cell.data == "set_cell":
            items = [item for item in cell.children if isinstance(item, Tree)]
            self._check_separation(items)
            return tree.SetCell(span=span, value=None, items=tuple(self._matrix_label(item) for item in items))
        token = cell.children[-1]
        assert isinstance(token, Token)
        if cell.data == "negative_cell":
            return tree.TableCell(span=span, value=-self.number_value(token)[0])
        if token.type == "NUMBER":
            return tree.TableCell(span=span, value=self.number_value(token)[0])
        if token.type in ("TRUE", "FALSE"):
            return tree.TableCell(span=span, value=token.type == "TRUE")
        return tree.TableCell(span=span, value=self._label(token))

    def _label(self, token: Child) -> str:
        """A bare name or a quoted text."""
        assert isinstance(token, Token)
        return self.string(token) if token.type == "STRING" else str(token)

    def _data(self, children: Children, span: Span) -> tree.Data:
        path, table, format_, options, *items = children
        return tree.Data(
            span=span,
            path=self._quoted(path),
            table=None if table is None else self._quoted(table),
            items=tuple(self._data_item(i) for i in items if isinstance(i, Tree)),
            format=None if format_ is None else self.identifier(format_),
            options=self._settings(options),
        )

    def _generate(self, children: Children, span: Span) -> tree.Generate:
        generator, options, *items = children
        return tree.Generate(
            span=span,
            generator=self.identifier(generator),
            items=tuple(self._data_item(i) for i in items if isinstance(i, Tree)),
            options=self._settings(options),
        )

    def _data_item(self, item: ParseTree) -> tree.DataItem:
        target, keys, value = item.children
        assert isinstance(value, Tree)
        distinct = False
        if value.data == "data_column":
            columns: tuple[tree.DataColumn, ...] = (self._data_column(value),)
        elif value.data == "data_columns":
            columns = tuple(self._data_column(c) for c in value.children)
        else:
            word, *inside = value.children
            function = self.identifier(word)
            distinct = function.text == "distinct"
            if not distinct and len(inside) > 1:
                self.diagnostics.error(
                    "GSM1025",
                    f"`{function.text}` has one column",
                    self.span(inside[1]),
                    help="for a set of tuples, write several columns: `(job, type)` or `distinct(job, type)`",
                )
                inside = inside[:1]
            columns = tuple(self._data_column(c, None if distinct else function) for c in inside)
        return tree.DataItem(
            span=self.span(item),
            target=self.identifier(target),
            keys=tuple(self._data_key(k) for k in keys.children) if isinstance(keys, Tree) else (),
            columns=columns,
            distinct=distinct,
        )

    def _data_column(self, column: Child, function: tree.Identifier | None = None) -> tree.DataColumn:
        assert isinstance(column, Tree)
        name, unit = column.children
        return tree.DataColumn(
            span=self.span(column), name=self._label(name), unit=self.optional_unit(unit), function=function
        )

    def _data_key(self, key: Child) -> tree.DataKey:
        assert isinstance(key, Tree)
        if key.data == "data_key":
            return tree.DataKey(span=self.span(key), column=self._label(key.children[0]))
        function, column, *arguments = key.children
        return tree.DataKey(
            span=self.span(key),
            column=self._label(column),
            function=self.identifier(function),
            arguments=self.exprs(arguments),
        )

    # --- tests -------------------------------------------------------------------------------------------------------

    def _solve(self, children: Children, span: Span) -> tree.Solve:
        scenario, settings, methods = children
        return tree.Solve(
            span=span,
            scenario=self.identifier(scenario),
            settings=self._settings(settings),
            methods=tuple(self._method(m) for m in methods.children) if isinstance(methods, Tree) else (),
        )

    def _settings(self, child: Child) -> tuple[tree.NamedArgument, ...]:
        return tuple(self.setting(s) for s in child.children) if isinstance(child, Tree) else ()

    def _method(self, method: Child) -> tree.MethodCall:
        assert isinstance(method, Tree)
        name, settings = method.children
        return tree.MethodCall(span=self.span(method), name=self.identifier(name), settings=self._settings(settings))

    def _expect(self, children: Children, span: Span) -> tree.Expect:
        condition, tolerance = children
        return tree.Expect(span=span, condition=self.expr(condition), tolerance=self.optional(tolerance))

    # --- policies ----------------------------------------------------------------------------------------------------

    def _stage(self, children: Children, span: Span) -> tree.PolicyStage:
        verb, name, indexing, doc, over, *parts = children
        index_list, choices = self.indexing(indexing), self.indexing(over)
        assert index_list is not None
        assert choices is not None
        return tree.PolicyStage(
            span=span,
            verb=str(verb),
            name=self.identifier(name),
            indexing=index_list,
            over=choices,
            parts=tuple(self._stage_part(p) for p in parts if isinstance(p, Tree)),
            doc=self.doc(doc),
        )

    def _stage_part(self, part: ParseTree) -> tree.StagePart:
        role, *keys, of = part.children
        return tree.StagePart(
            span=self.span(part), role=self.identifier(role), keys=self._keys(keys), of=self.optional(of)
        )

    def _by_keys(self, children: Children, span: Span) -> tree.PolicyRule:
        verb, indexing, *keys = children
        index_list = None if indexing is None else self.indexing(indexing)  # without one: all ways of the placement
        return tree.PolicyRule(span=span, verb=str(verb), indexing=index_list, keys=self._keys(keys))

    def _keys(self, keys: Children) -> tuple[tree.Key, ...]:
        return tuple(
            tree.Key(span=self.span(k), value=self.expr(k.children[0]), descending=k.children[1] is not None)
            for k in keys
            if isinstance(k, Tree)
        )

    def _by_rules(self, children: Children, span: Span) -> tree.PolicyRule:
        verb, rules = children
        return tree.PolicyRule(span=span, verb=str(verb), rules=self._rules(rules))

    def _rules(self, rules: Child) -> tuple[tree.Rule, ...]:
        assert isinstance(rules, Tree)
        return tuple(self._rule(r) for r in rules.children if isinstance(r, Tree))

    def _rule(self, rule: ParseTree) -> tree.Rule:
        words, arguments, by = rule.children
        given: tuple[tree.Expr, ...] = ()
        if isinstance(arguments, Tree):
            plain = [a for a in arguments.children if isinstance(a, Tree)]
            for argument in plain:
                if argument.data in ("setting", "given"):
                    self.diagnostics.error("GSM1025", "the arguments of a rule have no names", self.span(argument))
            given = self.exprs(a for a in plain if a.data not in ("setting", "given"))
        key = next(iter(self._keys([by])), None)
        word = key.value if key is not None and not key.descending and isinstance(key.value, tree.Name) else None
        return tree.Rule(
            span=self.span(rule),
            words=self.names(words),
            arguments=given,
            by=None if word is None else tree.Identifier(span=word.span, text=word.text),
            key=key if word is None else None,
        )

    def _randomise(self, children: Children, span: Span) -> tree.PolicyRule:
        target, count, probability, by = children
        return tree.PolicyRule(
            span=span,
            verb="randomise",
            target=self.identifier(target),
            count=self.expr(count.children[0]) if isinstance(count, Tree) else None,
            probability=self.expr(probability.children[0]) if isinstance(probability, Tree) else None,
            by=self.names(by),
        )

    def _repeat(self, children: Children, span: Span) -> tree.PolicyRule:
        count, rules = children
        return tree.PolicyRule(span=span, verb="repeat", count=self.expr(count), rules=self._rules(rules))

    def _improve(self, children: Children, span: Span) -> tree.PolicyRule:
        count, rounds, rules = children
        given = rounds.children[0] if isinstance(rounds, Tree) else None
        everything = isinstance(given, Token)
        return tree.PolicyRule(
            span=span,
            verb="improve",
            count=self.expr(count),
            rules=self._rules(rules),
            rounds=None if everything else self.optional(given),
            all_rounds=everything,
        )

    def _split(self, children: Children, span: Span) -> tree.PolicyRule:
        return tree.PolicyRule(span=span, verb="split", count=self.expr(children[0]))

    def _occupies(self, children: Children, span: Span) -> tree.PolicyRule:
        return tree.PolicyRule(span=span, verb="occupies", value=self.expr(children[0]))

    def _reserve(self, children: Children, span: Span) -> tree.PolicyRule:
        indexing, load, rule = children
        assert isinstance(rule, Tree)
        return tree.PolicyRule(
            span=span,
            verb="reserve",
            indexing=self.indexing(indexing),
            value=self.expr(load),
            rules=(self._rule(rule),),
        )

    def _serve(self, children: Children, span: Span) -> tree.PolicyRule:
        target, *rest = children
        return structs.replace(self._reserve(rest, span), verb="serve", target=self.identifier(target))

    def _fix(self, children: Children, span: Span) -> tree.PolicyRule:
        target, indexing, value = children
        assert isinstance(value, Tree)
        return tree.PolicyRule(
            span=span,
            verb="fix",
            target=self.identifier(target),
            indexing=self.optional_indexing(indexing),
            value=self.expr(value.children[0]),
        )

    def _remember(self, children: Children, span: Span) -> tree.PolicyRule:
        target, value = children
        return tree.PolicyRule(span=span, verb="remember", target=self.identifier(target), value=self.expr(value))

    def _again(self, children: Children, span: Span) -> tree.PolicyRule:
        value, where = children
        condition = self.expr(where.children[0]) if isinstance(where, Tree) else None
        return tree.PolicyRule(span=span, verb="again", value=self.expr(value), condition=condition)

    def _portfolio(self, children: Children, span: Span) -> tree.PolicyRule:
        methods = tuple(self._method(child) for child in children if isinstance(child, Tree))
        return tree.PolicyRule(span=span, verb="portfolio", methods=methods)

    def _lookahead(self, children: Children, span: Span) -> tree.PolicyRule:
        return tree.PolicyRule(span=span, verb="lookahead", value=self.expr(children[0]))

    def _futures(self, children: Children, span: Span) -> tree.PolicyRule:
        count, found, seed = children
        arrivals, condition = "", None
        if isinstance(found, Tree):
            if found.data == "after_arrivals" and isinstance(where := found.children[0], Tree):
                condition = self.expr(where.children[0])
            by_generators = found.data == "with_arrivals" and found.children[0] is not None
            arrivals = "over" if found.data == "after_arrivals" else "generated" if by_generators else "past"
        return tree.PolicyRule(
            span=span,
            verb="futures",
            count=self.expr(count),
            arrivals=arrivals,
            condition=condition,
            seed=self.optional(seed),
        )

    def _continue_with(self, children: Children, span: Span) -> tree.PolicyRule:
        return tree.PolicyRule(span=span, verb="continue", by=tuple(self.identifier(child) for child in children))

    def _mix(self, children: Children, span: Span) -> tree.PolicyRule:
        return tree.PolicyRule(span=span, verb="mix", count=self.expr(children[0]))

    def _vary_plans(self, children: Children, span: Span) -> tree.PolicyRule:
        return tree.PolicyRule(span=span, verb="vary", count=self.expr(children[0]))

    # --- online ------------------------------------------------------------------------------------------------------

    def _window(self, children: Children, span: Span) -> tree.Window:
        index, lookahead, commit = children
        return tree.Window(span=span, index=self.index(index), lookahead=self.expr(lookahead), commit=self.expr(commit))

    def _arrive(self, children: Children, span: Span) -> tree.Arrive:
        index, at = children
        return tree.Arrive(span=span, index=self.index(index), at=self.expr(at))

    def _replan(self, children: Children, span: Span) -> tree.Replan:
        return tree.Replan(span=span, triggers=tuple(self._trigger(t) for t in children if isinstance(t, Tree)))

    def _trigger(self, trigger: ParseTree) -> tree.Trigger:
        span = self.span(trigger)
        if trigger.data == "trigger":
            return tree.Trigger(span=span, event=self.identifier(trigger.children[0]))
        every, unit = trigger.children
        return tree.Trigger(span=span, every=self.expr(every), unit=None if unit is None else self.identifier(unit))

    def _replan_at(self, children: Children, span: Span) -> tree.ReplanAt:
        times = [child for child in children if isinstance(child, Tree)]
        days = tuple(self.identifier(child) for child in children if isinstance(child, Token))
        return tree.ReplanAt(span=span, times=tuple(map(self._clock_time, times)), days=days)

    def _clock_time(self, time: ParseTree) -> tree.ClockTime:
        hour, minute = map(str, time.children)
        return tree.ClockTime(span=self.span(time), hour=hour, minute=minute)

    def _carry(self, children: Children, span: Span) -> tree.Carry:
        target, names, value = children
        return tree.Carry(span=span, target=self.identifier(target), indices=self.names(names), value=self.expr(value))

    def _fallback(self, children: Children, span: Span) -> tree.FallbackPolicy:
        return tree.FallbackPolicy(span=span, policy=self.identifier(children[0]))

    def _world(self, children: Children, span: Span) -> tree.ProgressLine:
        return tree.ProgressLine(span=span, verb=span.text.split(maxsplit=1)[0], value=self.expr(children[0]))

    def _change(self, children: Children, span: Span) -> tree.Change:
        event, delay, costs = children
        return tree.Change(
            span=span, event=self.identifier(event), delay=self.optional(delay), costs=self.optional(costs)
        )

    def _outage(self, children: Children, span: Span) -> tree.Outage:
        index, every, lasting = children
        return tree.Outage(span=span, index=self.index(index), every=self.expr(every), lasting=self.expr(lasting))

    def _charge(self, children: Children, span: Span) -> tree.Charge:
        name, indexing, unit, value = children
        return tree.Charge(
            span=span,
            name=self.identifier(name),
            indexing=self.optional_indexing(indexing),
            unit=self.unit(unit.children[0]) if isinstance(unit, Tree) else None,
            value=self.optional(value),
        )


def _is_negative(cell: ParseTree) -> bool:
    return cell.data == "negative_cell" or (cell.data == "matrix_label" and len(cell.children) > 1)
