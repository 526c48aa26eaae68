"""Tables and sets of other programs: read or refused, and never read as something else."""

from __future__ import annotations

import csv
import io
import random
import re
from pathlib import Path

import pytest

from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import workspace_from_text

MODEL = """
model M {
  set I;
  param p[I] default 7;
  param q[I] default 9;
  param s[I] symbol default "none";
  var x >= 0;
  minimize total: x;
}
"""
DEFAULTS = (7.0, 9.0, "none")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
INTEGER = re.compile(r"0|-?[1-9][0-9]*")
NUMBER = re.compile(r"-?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
RESERVED = ("true", "false", "min", "set", "in", "default", "table")
ODD = (
    *("n-1", "a-b", "1-2", "n.1", "a.b", "2024-01-05", "1e3", "1E3", "01", "007", "1.0", "-0", "+5", "--5", "1_000"),
    *("1,5", "3h", "3[h]", "5%", "$5", "0x1F", "1e", "5.", "1.5.2", ".", "-", "- 4", "--", "−5", "nan", "inf", "n/1"),
    *("a+b", "n*2", "(a)", "a:1", "a'b", "x->y", "1..3", "é", "２", "n:=1", '"a"b', 'a"b"', '""', "1 000"),
)


def seeds(first: int, quick: int, more: int) -> list[object]:
    """Some seeds for every run, and more for the long one."""
    slow = pytest.mark.slow
    return [*range(first, first + quick), *(pytest.param(s, marks=slow) for s in range(first + quick, first + more))]


def _reading(label: object, p: object, q: object, s: object) -> tuple[object, ...]:
    return label, p, q, s


def read(scenario: str, folder: Path | None = None) -> list[tuple[object, ...]] | None:
    """The rows (label, p, q, s), or None where the scenario is refused."""
    found = Diagnostics()
    workspace = workspace_from_text(MODEL + f"scenario S for M {{\n{scenario}\n}}\n", "test.gsm", found)
    checked = check_scenario(workspace, "S", {}, found)
    if found.has_errors or checked is None:
        return None
    try:
        store = build_instance(checked, folder=folder).store
    except DiagnosticError:
        return None
    [labels] = store.sets["I"].label_columns()
    return list(map(_reading, labels, *(store.params[name].values.tolist() for name in "pqs")))


# --- an independent writer --------------------------------------------------------------------------------------------


def a_label(rng: random.Random) -> tuple[str, object]:
    """A label as written, and what is meant; the writer quotes whatever is no word and no plain integer."""
    kind = rng.random()
    if kind < 0.4:
        meant = "".join(rng.choice("abn_h") for _ in range(rng.randint(1, 3))) + rng.choice(("", "1", "20"))
    elif kind < 0.5:
        meant = rng.choice(RESERVED)
    else:
        meant = rng.choice(ODD) if kind < 0.8 else "".join(rng.choice("a1-.e+_ #;=") for _ in range(rng.randint(1, 5)))
    plain = WORD.fullmatch(meant) and meant not in RESERVED[:-1] and rng.random() < 0.8
    return (meant if plain else '"' + meant.replace("\\", "\\\\").replace('"', '\\"') + '"'), meant


def a_number(rng: random.Random) -> tuple[str, float | None]:
    whole = str(rng.choice((0, 1, 7, 25, 1000, 123456)))
    text = rng.choice((whole, "0" + whole, whole + ".50", "." + whole, whole + "e2", whole + ".5E-3", "2e+1"))
    if rng.random() < 0.2:
        return ".", None
    text = rng.choice(("", "-")) + text
    return text, float(text)


def space(rng: random.Random) -> str:
    return rng.choice((" ", "  ", "\t", "\n", " # a-1 comment\n", "#5\n    "))


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", seeds(0, 10, 400))
def test_what_is_written_is_read(seed: int) -> None:
    rng = random.Random(seed)
    cells: list[str] = []
    meant: dict[object, tuple[object, ...]] = {}
    for _ in range(rng.randint(1, 6)):
        label, key = a_label(rng)
        if key in meant:
            continue
        numbers = [a_number(rng) for _ in "pq"]
        symbol, text = a_label(rng)
        cells += [label, *(n for n, _ in numbers), symbol]
        values = [d if v is None else v for (_, v), d in zip(numbers, DEFAULTS, strict=False)]
        meant[key] = _reading(key, *values, text)
    one_line = "table I: p q s = " + " ".join(cells) + ";"
    assert read(one_line) == list(meant.values())
    rows = "table I: p q s =\n" + "\n".join(" ".join(cells[i : i + 4]) for i in range(0, len(cells), 4)) + ";"
    assert read(rows) == list(meant.values())
    in_sets = "I = { " + ", ".join(cells[0::4]) + " };\n" + one_line
    assert read(in_sets) == list(meant.values())
    loose = "table I: p q s =" + "".join(space(rng) + cell for cell in cells) + ";"
    assert read(loose) in (list(meant.values()), None)


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", seeds(1000, 8, 400))
def test_what_is_written_without_quotes_is_read_or_refused(seed: int) -> None:
    """Odd labels and values as they are: never another number of cells, another label or another value."""
    rng = random.Random(seed)
    raw = [rng.choice(ODD) if rng.random() < 0.7 else "".join(rng.choice("a1-.e+_") for _ in "abc") for _ in range(3)]
    for odd in (*raw, "a1"):  # the last one is read in any case
        _read_as_written(f"table I: p q s = {odd} 3 4 z;")
        _read_as_written(f"table I: p q s = {odd} 3 4 z a 5 6 y;")
        _read_as_written(f"table I: p q s = a {odd} 4 z;")
        _read_as_written(f"table I: p q s = a 3 4 {odd};")
        found = read(f"I = {{ {odd}, b1 }};")
        if "," not in odd and odd[0] != "(":  # parentheses only group
            assert found is None or [r[0] for r in found] in ([odd, "b1"], [odd.strip('"'), "b1"]), odd


def _read_as_written(table: str) -> None:
    """Cells are what spaces separate; a number is what a number looks like, anything else the text itself."""
    found = read(table)
    if found is None:
        return
    cells = table.removeprefix("table I: p q s = ").removesuffix(";").split()
    rows = [cells[i : i + 4] for i in range(0, len(cells), 4)]
    meant = [
        _reading(_label(label), _value(p, 7.0), _value(q, 9.0), "none" if s == "." else s.strip('"'))
        for label, p, q, s in rows
    ]
    assert found == meant, table


def _label(text: str) -> object:
    return int(text) if INTEGER.fullmatch(text) else text.strip('"')


def _value(text: str, default: float) -> float:
    assert text == "." or NUMBER.fullmatch(text), text
    return default if text == "." else float(text)


def test_numbers_may_begin_with_a_point() -> None:
    assert read("table I: p q = a .25 b .5;") is None
    assert read("table I: p = a .25 b .5;") == [("a", 0.25, 9.0, "none"), ("b", 0.5, 9.0, "none")]
    assert read("table I: p q = a .25 . b -.5e1 .;") == [("a", 0.25, 9.0, "none"), ("b", -5.0, 9.0, "none")]


@pytest.mark.parametrize(
    "table",
    [
        "table I: p q = n-1 4 n 3 4;",
        "table I: p q = a - 4 b 1 2;",
        "table I: p q = a -\n4 b 1 2;",
        "table I: p q s =\n  1 10 20\n  2 30 40\n  3 50 60\n  4 70 80;",
        "table I: p q s =\n  1 10 20 30\n  2 30\n  3 50;",
        "table I: p = true 4 b 3;",
        "table I: p = a true;",
        "table I: p = 01 4;",
        "I = { 1-2, 3-4 };",
        "I = { 01, 2 };",
    ],
)
def test_what_would_be_misread_is_refused(table: str) -> None:
    assert read(table) is None


@pytest.mark.parametrize("seed", seeds(2000, 10, 400))
def test_files_are_read_as_written(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("name", "p", "q", "s"))
    meant: dict[object, tuple[object, ...]] = {}
    odd = False
    for _ in range(rng.randint(1, 6)):
        _, key = a_label(rng)
        if str(key).strip(" ") in meant or not str(key).strip(" "):
            continue
        p, q = (a_number(rng)[0].replace("−", "-") for _ in "pq")
        if rng.random() < 0.1:
            p = rng.choice(("1,5", "1_000", "0x1F", "5%", "-", "--", "NA", "nan", "inf", "1 000", "3h"))
        odd |= NUMBER.fullmatch(p) is None and p != "."
        text = rng.choice(ODD)
        writer.writerow((key, "" if p == "." else p, "" if q == "." else q, text))
        if odd:
            continue
        key = str(key).strip(" ")
        meant[key] = _reading(key, _value(p, 7.0), _value(q, 9.0), text.strip(" "))
    (tmp_path / "t.csv").write_text(out.getvalue(), encoding="utf-8")
    found = read('data "t.csv" { I = name; p[name] = p; q[name] = q; s[name] = s; }', tmp_path)
    if odd:
        assert found is None
    elif meant:
        labels = [k for k in meant if not INTEGER.fullmatch(str(k))]
        assert found == list(meant.values()) or not labels
