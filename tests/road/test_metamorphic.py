"""Changes of a text that must change nothing, or change the optimum in a known way."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.ir.problem import Problem

FOLDER = Path(__file__).parent / "models"
BACKENDS = ("highs", "scip")


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


random_texts = _beside("random_texts")
SEEDS = range(12)


def model_text(name: str) -> str:
    return (FOLDER / f"{name}.gsm").read_text(encoding="utf-8")


def random_writer(seed: int) -> Any:
    """The writer of a random model that means something."""
    for attempt in range(1000):
        writer = random_texts.Writer(Random(1000 * seed + attempt))
        writer.write()
        try:
            writer.make()
        except random_texts.Refused:
            continue
        return writer
    raise AssertionError("no model means anything")


def told(problem: Problem, prefix: str = "") -> dict[str, Any]:
    """A problem by names alone, whatever the order of its columns and rows; names lose a prefix."""

    def rounded(value: float) -> float:
        return float(f"{value:.9g}") + 0.0

    columns = [
        (f.name.removeprefix(prefix), tuple(key))
        for f in problem.variables
        for key in (zip(*f.domain.label_columns(), strict=True) if f.domain.arity else [()])
    ]
    rows = {}
    matrix = problem.matrix
    for family in problem.constraints:
        for row in range(family.first, family.stop):
            entries = range(matrix.starts[row], matrix.starts[row + 1])
            terms = {columns[matrix.columns[e]]: rounded(matrix.values[e]) for e in entries}
            ends = (rounded(problem.row_lower[row]), rounded(problem.row_upper[row]))
            rows[family.name.removeprefix(prefix), family.part, family.index_of(row)] = (terms, ends)
    goals = [
        (o.sense, rounded(o.offset), {c: rounded(v) for c, v in zip(columns, o.costs(len(columns)), strict=True)})
        for o in problem.objectives
    ]
    ends = zip(map(rounded, problem.lower), map(rounded, problem.upper), problem.integer.tolist(), strict=True)
    return {"bounds": dict(zip(columns, ends, strict=True)), "rows": rows, "goals": goals}


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_elements_changes_nothing(seed: int) -> None:
    text = random_writer(seed).text()
    random = Random(seed)

    def shuffled(match: re.Match[str]) -> str:
        elements = re.findall(r'\([^)]*\)|"(?:[^"\\]|\\.)*"', match[2])
        random.shuffle(elements)
        return f"{match[1]} = {{ {', '.join(elements)} }};"

    scenario = text.index("scenario S")
    other = text[:scenario] + re.sub(r"\b([JSPT]) = \{ (.*?) \};", shuffled, text[scenario:])
    assert told(gs.compile(other)) == told(gs.compile(text))


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_declarations_changes_nothing(seed: int) -> None:
    text = random_writer(seed).text()
    first, rest = text.split("{\n", 1)
    body, scenario = rest.split("\n}\nscenario", 1)
    statements = [f"{s};" for s in body.removesuffix(";").split(";\n")]
    at = next(i for i, s in enumerate(statements) if s.lstrip().startswith(("minimize", "maximize")))
    before, after = statements[:at], statements[at:]  # goals keep their order, and so does what follows them
    Random(seed).shuffle(before)
    other = first + "{\n" + "\n".join([*after, *before]) + "\n}\nscenario" + scenario
    assert told(gs.compile(other)) == told(gs.compile(text))


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_names_change_nothing(seed: int) -> None:
    text = random_writer(seed).text()
    token = re.compile(r'"(?:[^"\\]|\\.)*"|[^\W\d]\w*|\d+(?:\.\d+)?|.', re.DOTALL)
    own = re.compile(r"[JNHSPTKQLZabcefsw]|cap|lag|home|kind|most|top|i\d+|[vtc]\d+|goal\d|part\d+")
    renamed = "".join(f"Länge_{t}" if own.fullmatch(t) else t for t in token.findall(text))
    renamed = renamed.replace("Länge_S for M", "S for M")
    assert told(gs.compile(renamed), "Länge_") == told(gs.compile(text))


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_layout_changes_nothing(seed: int, tmp_path: Path) -> None:
    text = random_writer(seed).text()
    path = tmp_path / "model.gsm"
    path.write_text(text, encoding="utf-8")
    assert main(["fmt", str(path)]) == 0
    formatted = path.read_text(encoding="utf-8")
    assert formatted != text
    assert told(gs.compile(formatted)) == told(gs.compile(text))
    assert main(["fmt", "--check", str(path)]) == 0
    crowded = re.sub(r"\s*\n\s*", " ", text)
    assert told(gs.compile(crowded)) == told(gs.compile(text))


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_split_over_files(seed: int, tmp_path: Path) -> None:
    text = random_writer(seed).text()
    at = text.index("scenario S")
    values = text.index("\n  table N") + 1
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "model.gsm").write_text(text[:at], encoding="utf-8")
    half = 'import "parts/model.gsm";\n' + text[at:values].replace("scenario S for", "scenario Half for") + "}\n"
    (tmp_path / "half.gsm").write_text(half, encoding="utf-8")
    whole = 'import "half.gsm";\nimport "parts/model.gsm";\nscenario S extends Half {\n' + text[values:]
    (tmp_path / "main.gsm").write_text(whole, encoding="utf-8")
    assert told(gs.load(tmp_path / "main.gsm").ground("S")) == told(gs.compile(text))


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_values_set_from_python(seed: int) -> None:
    writer = random_writer(seed)
    text, data = writer.text(), writer.data
    at = text.index("scenario S")
    with gs.loads(text[:at] + "scenario S for M { }\n") as model:
        for name, elements in (("J", data.jobs), ("N", data.nodes), ("H", data.slots), ("S", data.some),
                               ("P", data.pairs), ("T", data.triples)):  # fmt: skip
            model.set(name, elements)
        for name in ("a", "cap", "home", "kind", "b", "c", "e", "f", "lag", "w"):
            values = getattr(data, name)
            columns = [*zip(*values, strict=True), values.values()] if values else None
            if columns and seed % 2:
                model.set(name, pl.DataFrame([pl.Series(str(n), list(c), strict=False) for n, c in enumerate(columns)]))
            else:
                model.set(name, values)
        model.set("top", data.top)
        model.set("s", data.s)
        assert told(model.ground("S")) == told(gs.compile(text))


# --- models with units -----------------------------------------------------------------------------------------------


def replaced(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


def optimum(text: str, scenario: str | None = None, backend: str = "highs") -> list[float]:
    result = gs.loads(text, base=FOLDER).solve(scenario, backend, gap=0)
    assert result.status == "optimal"
    return [o.value for o in result.objectives if o.value is not None]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_unit_of_data_changes_nothing(backend: str) -> None:
    text = model_text("lexicographic")
    other = replaced(
        text,
        "takes[h] due[min] = a 4 120  b 6 240  c 2 30", "takes[min] due[s] = a 240 7200  b 360 14400  c 120 1800",
        "price[$/h] = slow 1 1  medium 2 4  fast 4 8  spare 1 1",
        "price[$/s] = slow 1 2.777777777777778e-4  medium 2 1.111111111111111e-3 fast 4 2.222222222222222e-3"
        "  spare 1 2.777777777777778e-4",
    )  # fmt: skip
    assert optimum(other, None, backend) == pytest.approx(optimum(text, None, backend))


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_unit_of_a_declaration_changes_only_its_numbers(backend: str) -> None:
    text = model_text("unit_commitment")
    (before,) = optimum(text, None, backend)
    for old, new in (
        ("param demand[Hours] in MW", "param demand[Hours] in W"),
        ("param high[u in Units] in MW", "param high[u in Units] in GW"),
        ("in kW >= 0;", "in MW >= 0;"),
        ("param price[Units] in $/MWh", "param price[Units] in $/(W*s)"),
        ("param hour in h = 1[h];", "param hour in s = 60[min];"),
        ("param ramp[u in Units] in MW/h", "param ramp[u in Units] in W/s"),
    ):
        assert optimum(replaced(text, old, new), None, backend) == [pytest.approx(before)]


@pytest.mark.quick(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("factor", [2, 1000])
def test_prices_scale_the_optimum(backend: str, factor: int) -> None:
    text = model_text("transport")
    (before,) = optimum(text, "Classic", backend)
    dearer = re.sub(r"(seattle|san_diego)( +\w+ +)(\d+)", lambda m: m[1] + m[2] + str(factor * int(m[3])), text)
    assert optimum(dearer, "Classic", backend) == [pytest.approx(factor * before)]
    assert optimum(replaced(text, "= seattle 350  san_diego 600", f"= seattle {350 * factor}  san_diego {600 * factor}",
                            "new_york 325  chicago 300  topeka 275",
                            f"new_york {325 * factor}  chicago {300 * factor}  topeka {275 * factor}",
                            "default 1000", "default 1000000"),
                   "Classic", backend) == [pytest.approx(factor * before)]  # fmt: skip


@pytest.mark.quick(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("name", "scenario", "row"),
    [
        ("transport", "Classic", "constraint more: sum[(i, j) in Links] flow[i, j] >= 0[GB];"),
        ("knapsack", "Small", "constraint more: sum[i in Items] 2 * size[i] * take[i] <= 2 * room;"),
        ("jobshop", "Small", "constraint more[j in Jobs, s in Steps]: start[j, s] <= 2 * horizon;"),
        ("setcover", "Twice", "constraint more[s in Stations]: open[s] <= 1 and open[s] >= -1;"),
        ("windows", "Day", "constraint more[h in Slots, j in Jobs where h < opens[j]]: run[j, h] <= 0;"),
    ],
)
def test_a_redundant_constraint_changes_nothing(name: str, scenario: str, row: str, backend: str) -> None:
    text = model_text(name)
    end = text.index("\n}\n")
    assert optimum(text[:end] + "\n  " + row + text[end:], scenario, backend) == pytest.approx(
        optimum(text, scenario, backend)
    )


def test_a_condition_is_as_good_as_a_set() -> None:
    text = model_text("windows")
    condition = "j in Jobs, h in Slots where opens[j] <= h <= closes[j]"
    by_set = replaced(
        text,
        "  var run[", f"  set Window = {{ (j, h) : {condition} }};\n  var run[",
        "constraint started[j in Jobs, h in Slots where opens[j] <= h and h <= closes[j]]:",
        "constraint started[(j, h) in Window]:",
        "starts[j in Jobs, h in Slots where h >= opens[j] and h <= closes[j]]",
        "starts[j in Jobs, h in Slots where (j, h) in Window]",
    )  # fmt: skip
    assert told(gs.compile(by_set)) == told(gs.compile(text))
    summed = replaced(
        text, "sum[j in Jobs] power[j] * run[j, h]",
        "sum[j in Jobs where opens[j] <= h <= closes[j]] power[j] * run[j, h]",
    )  # fmt: skip
    assert told(gs.compile(summed)) == told(gs.compile(text))
    spread = replaced(
        text, "sum[h in Slots] run[j, h] == needs[j]",
        "sum[k in Jobs, h in Slots where k == j and not (h < opens[k] or h > closes[k])] run[k, h] == needs[j]",
    )  # fmt: skip
    assert told(gs.compile(spread)) == told(gs.compile(text))
