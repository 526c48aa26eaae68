"""reference/declarations.md: words, operators, functions, units, rules and syntax, of the grammar and the code."""

from __future__ import annotations

import re

from grammar_facts import operator_levels, places_of_words
from markdown_tables import code, paragraph, table

from gpusched_dsl.language.blocks.policies import rule_table
from gpusched_dsl.language.checking.clock_functions import CLOCK_MEANINGS
from gpusched_dsl.language.checking.functions import FUNCTIONS
from gpusched_dsl.language.checking.placements import LABELS, PLACES, QUANTITIES, ROLES
from gpusched_dsl.language.distributions import RESTRICTIONS, SPELLINGS, distribution_names
from gpusched_dsl.language.highlighting.words import word_classes
from gpusched_dsl.language.parsing.grammar import AGGREGATES, grammar_text, vocabulary
from gpusched_dsl.language.units import COUNTED, CURRENCIES, UNITS, Unit

# What each operator and function does. Those of the language are looked up here, so a new one without a line fails.
OPERATORS = {
    "if": "`if c then a else b`: a if c is true, else b",
    "=>": "implies",
    "<=>": "is equivalent to",
    "or": "at least one is true",
    "and": "both are true",
    "not": "is false",
    "not in": "is no element of",
    "==": "equals",
    "!=": "differs from",
    "<=": "is at most",
    ">=": "is at least",
    "<": "is less than",
    ">": "is more than",
    "in": "is an element of",
    "union": "elements of at least one set",
    "diff": "elements of the first set only",
    "inter": "elements of both sets",
    "cross": "pairs of elements",
    "..": "integers from a to b; `a..b by s` in steps",
    "+": "sum",
    "-": "difference",
    "*": "product",
    "/": "quotient",
    "div": "integer quotient, rounded down",
    "mod": "remainder, never negative",
    "^": "power",
}
SIGNS = {"+": "sign", "-": "sign"}
AGGREGATE_MEANINGS = {
    "sum": ("sum", "number"),
    "prod": ("product", "number"),
    "min": ("least value; of no values an error", "number"),
    "max": ("largest value; of no values an error", "number"),
    "norm": ("Euclidean norm: root of the sum of squares", "number"),
    "count": ("number of elements, or of those whose body is true", "number"),
    "any": ("at least one is true", "condition"),
    "all": ("all are true", "condition"),
    "all_different": ("no two are equal", "condition"),
    "sos1": ("at most one is not zero", "condition"),
    "sos2": ("at most two are not zero, and these are neighbours", "condition"),
    "no_overlap": ("no two intervals overlap", "condition"),
    "cumulative": ("at every time the demands of the intervals are at most the limit", "condition"),
    "argmin": ("first element with the least value", "element"),
    "argmax": ("first element with the largest value", "element"),
}
FUNCTION_MEANINGS = {
    "min": ("`min(a, b, ...)`", "least argument"),
    "max": ("`max(a, b, ...)`", "largest argument"),
    "all_different": ("`all_different(a, b, ...)`", "no two arguments are equal"),
    "piecewise": ("`piecewise(x, breakpoints = {...}, slopes = {...})`", "piecewise-linear function of x"),
    "norm": ("`norm(a, b, ...)`", "Euclidean norm"),
    "abs": ("`abs(x)`", "absolute value"),
    "floor": ("`floor(x)`", "largest integer that is at most x"),
    "ceil": ("`ceil(x)`", "least integer that is at least x"),
    "round": ("`round(x)`", "nearest integer"),
    "exp": ("`exp(x)`", "exponential of a plain number"),
    "log": ("`log(x)`", "natural logarithm of a plain number"),
    "sqrt": ("`sqrt(x)`", "square root; the unit is the root of the unit"),
    "count": ("`count(S)`", "number of elements of a set"),
    "card": ("`card(S)`", "the same as `count(S)`"),
    "first": ("`first(S)`", "first element of an ordered set"),
    "last": ("`last(S)`", "last element of an ordered set"),
    "ord": ("`ord(h)`, `ord(h, S)`", "position of an element in its ordered set, or in S, from 1"),
    "prev": ("`prev(h)`", "element before h in its ordered set"),
    "next": ("`next(h)`", "element after h in its ordered set"),
    **{name: (f"`{name}(t)`", meaning) for name, meaning in CLOCK_MEANINGS.items()},
}
LISTS_OF = {
    "empirical": "a list of samples, also with weights, or a column of a data file",
    "discrete": "a list of values with their probabilities",
    "survival_points": "a list of values with the probability of a larger one",
    "mixture": "a list of distributions with their probabilities",
}
CLASSES = {
    "blocks": "begin a block",
    "declarations": "begin a declaration",
    "reserved": "other words",
    "control": "conditions and index lists",
    "aggregates": "aggregates",
    "operators": "operators",
    "constants": "constants",
}
RULE_TITLES = {
    "PLACE": ("`place`", "the job goes"),
    "FINISH": ("`finish`", "change of the complete plan"),
    "KEEP": ("`keep`", "meaning"),
    "IMPROVE": ("`improve`", "move"),
    "RESERVE": ("`reserve ... with`", "jobs run only if"),
    "SERVE": ("`serve ... with`", "the values"),
}


ENGINES = {
    "nodes": "jobs on nodes",
    "slots": "slots",
    "queues": "queues",
    "standalone": "all jobs at once",
    "gangs": "gangs",
}
WITHOUT_ENGINE = ("KEEP", "IMPROVE", "RESERVE", "SERVE")


def page() -> str:
    """The text of the page."""
    return "\n".join(
        (
            "# Reference\n",
            paragraph(
                """The words, operators, functions, units and rules of the language. [language.md](language.md)
                explains them. This page is made from the grammar and the code by `make docs`."""
            ),
            _words(),
            _operators(),
            _functions(),
            _distributions(),
            _units(),
            _placement(),
            _policies(),
            _syntax(),
        )
    )


def _words() -> str:
    classes = word_classes()
    reserved = vocabulary().reserved
    rows = []
    for name, meaning in CLASSES.items():
        words = [word for word in getattr(classes, name) if word in reserved]
        if words:
            rows.append((meaning, code(words)))
    places = places_of_words()
    soft = [(f"`{word}`", ", ".join(places[word])) for word in sorted(set(places) - set(reserved))]
    return (
        "## Words\n\nReserved words are never names:\n\n"
        + table(("use", "words"), rows)
        + "\nAll other words are keywords only where the syntax expects them, and may be names everywhere else:\n\n"
        + table(("word", "where"), soft)
    )


def _operators() -> str:
    rows = []
    for level, (rule, found) in enumerate(operator_levels().items(), start=1):
        words = [f"{word} in" if word == "not" and "in" in found else word for word in found]
        meanings = dict.fromkeys((SIGNS if rule == "signed" else OPERATORS)[word] for word in words)
        rows.append((str(level), code(words, ", "), "; ".join(meanings)))
    return (
        "## Operators\n\nLoosest first; brackets `( )` group. Comparisons may be chained: `a <= x <= b`.\n\n"
        + table(("level", "operators", "meaning, in this order"), rows)
    )


def _functions() -> str:
    spelling = vocabulary().spelling
    aggregates = sorted(spelling[terminal] for terminal in AGGREGATES)
    kinds: dict[str, list[tuple[str, str]]] = {}
    for word in aggregates:
        meaning, kind = AGGREGATE_MEANINGS[word]
        kinds.setdefault(kind, []).append((f"`{word}`", meaning))
    parts = [
        "## Aggregates and functions\n\nAggregates run over an index list: `sum[j in Jobs where late[j]] cost[j]`.\n"
    ]
    parts += [table((f"gives a {kind}", "meaning"), rows) for kind, rows in kinds.items() if kind != "element"]
    parts.append(table(("gives an element", "meaning"), kinds["element"]))
    parts.append(table(("function", "value"), [FUNCTION_MEANINGS[name] for name in (*FUNCTIONS,)]))
    return "\n".join(parts)


def _distributions() -> str:
    rows = []
    for name in distribution_names():
        spelling = SPELLINGS.get(name) or RESTRICTIONS.get(name)
        if spelling is None:
            rows.append((f"`{name}`", LISTS_OF[name]))
        else:
            ways = [code(sorted(way, key=spelling.arguments.index), ", ") for way in spelling.argument_sets]
            before = "a distribution, and " if name in RESTRICTIONS else ""
            rows.append((f"`{name}`", before + "; or ".join(ways)))
    return "## Distributions\n\n`random x ~ normal(mean = 3[h], deviation = 1[h]);`\n\n" + table(
        ("name", "arguments"), rows
    )


def _units() -> str:
    kinds: dict[str, list[str]] = {}
    for symbol, unit in UNITS.items():
        kinds.setdefault(_kind(unit), []).append(symbol)
    rows = [(kind, code(symbols)) for kind, symbols in sorted(kinds.items(), key=lambda item: item[0])]
    text = """Units are combined by `*`, `/`, `^` and brackets: `$/(GPU*h)`. Units of one kind convert to each other,
        except currencies and counted things."""
    return f"## Units\n\n{paragraph(text)}\n" + table(("kind", "symbols"), rows)


def _kind(unit: Unit) -> str:
    names = [name for name, _ in unit.dimension]
    if any(name in CURRENCIES for name in names):
        return "money"
    if any(name in (*COUNTED, "node", "gpu") for name in names):
        return "counted things"
    shown = {
        "data": "data",
        "energy": "energy",
        "mass": "mass",
        "time": "time",
        "energy time": "power",
        "": "plain numbers",
    }
    kind = shown[" ".join(names)]
    return "frequency" if unit.dimension == (("time", -1),) else kind


def _placement() -> str:
    kinds = {**dict.fromkeys(PLACES, "an index of the decision"), **dict.fromkeys(LABELS, "a label")}
    kinds |= {role: kind or "an amount" for role, kind in QUANTITIES.items()}
    kinds["uses"] = "an amount, `of`, and the capacity of a node"
    title = "## Roles of a placement\n\n[Placement](language.md#placement) explains them.\n\n"
    return title + table(("role", "what follows it"), [(f"`{role}`", kinds[role]) for role in ROLES])


def _policies() -> str:
    parts = ["## Rules of policies\n\n[Policies](language.md#policies) explains the lines of a policy.\n"]
    for name, (line, what) in RULE_TITLES.items():
        rows = []
        for text, shape in getattr(rule_table, name).items():
            arguments = "; ".join(f"`{p.name}`: {p.meaning}{_default(p.default)}" for p in shape.parameters)
            arguments += "".join(f"; perhaps `{p.name}`: {p.meaning}" for p in shape.optional)
            rows.append((f"`{text}`", shape.words, arguments, ENGINES[shape.plans]))
        rows = rows if any(row[2] for row in rows) else [(row[0], row[1], row[3]) for row in rows]
        headings = [line, what, *(["arguments"] if len(rows[0]) == 4 else []), "engine"]
        if name in WITHOUT_ENGINE:
            rows, headings = [row[:-1] for row in rows], headings[:-1]
        parts.append(table(headings, rows))
    prices = [(f"`{name}`", meaning) for name, meaning in rule_table.PRICES.items()]
    parts.append(table(("`keep best`", "the plan with the least"), prices))
    return "\n".join(parts)


def _default(text: str) -> str:
    """The default of an argument; for other arguments than integers the table has the unit in its place."""
    return f" (default {text})" if text.isdigit() else ""


def _syntax() -> str:
    parts = [
        "## Syntax\n",
        paragraph(
            """`grammar/gsm.lark`, the only definition of the syntax, in the notation of Lark: `*` repeats, `[ ]` is
            optional, `|` separates alternatives, words in capitals are terminals."""
        ),
    ]
    text = re.sub(r"\n%declare _STEP\n", "\n", grammar_text())
    sections = re.split(r"^// --- (.+?) -+$", text, flags=re.MULTILINE)
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        heading = title.split(":")[0].split(",")[0]
        parts.append(f"### {heading[0].upper()}{heading[1:]}\n\n```lark\n{body.strip()}\n```\n")
    return "\n".join(parts)
