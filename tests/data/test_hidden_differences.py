"""Data that reads as something else than it looks: repeated JSON keys, large integers, labels with hidden letters."""

from __future__ import annotations

import json
import random
import sqlite3
import unicodedata
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gpusched_dsl as gs
from gpusched_dsl.data.formats.registry import reader
from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import FileLimits, Unreadable
from gpusched_dsl.data.sources.json_keys import check_keys
from gpusched_dsl.data.sources.json_lines import read_json_lines

SAMPLES = Path(__file__).parents[2] / "edges" / "formats" / "tests" / "traces" / "samples"
MODEL = """
model M { set I; param p[I]; var x[I] >= 0; minimize z: sum[i in I] p[i] * x[i]; report r[i in I] = p[i]; }
scenario S for M { data "FILE" TABLE { I = k; p[k] = p; } }
"""


def found(folder: Path, file: str, table: str = "") -> tuple[list[gs.Diagnostic], Any]:
    """The errors and warnings of a model with this file, and the labels of the set."""
    try:
        problem = gs.loads(MODEL.replace("FILE", file).replace("TABLE", table), base=folder)
        result = problem.solve("S")
    except gs.DiagnosticError as error:
        return list(error.diagnostics), None
    return list(result.diagnostics), result


# --- keys ------------------------------------------------------------------------------------------------------------


def has_repeated_key(line: str) -> bool:
    repeated = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(line, object_pairs_hook=note)
    return any(repeated)


VALUES = ["1", "null", json.dumps('"k": {"'), json.dumps("\\")]


@pytest.mark.parametrize("seed", range(40))
def test_repeated_keys_of_json_lines(seed: int) -> None:
    """Random lines with keys in any spelling and values that look like keys, against a reader that sees every pair."""
    draw = random.Random(seed)
    lines, first = [], None
    for number in range(1, 30):
        names = draw.sample(["k", "p", "größe", "a b"], draw.randint(1, 4))
        if draw.random() < 0.04:
            names.insert(draw.randint(0, len(names)), draw.choice(names))
        ascii_only, gap = draw.random() < 0.3, draw.choice(["", " "])
        pairs = []
        for name in names:
            key = json.dumps(name, ensure_ascii=ascii_only)
            if name == "k" and draw.random() < 0.2:
                key = '"\\u006b"'
            pairs.append(f"{key}{gap}:{gap}{draw.choice(VALUES)}")
        lines.append("{" + ", ".join(pairs) + "}")
        if first is None and has_repeated_key(lines[-1]):
            first = number
    data = "\n".join(lines).encode()
    if first is None:
        read_json_lines(data, "f", ["k", "p", "größe", "a b"], FileLimits())
    else:
        with pytest.raises(Unreadable) as raised:
            read_json_lines(data, "f", ["k", "p", "größe", "a b"], FileLimits())
        [fault] = raised.value.faults
        assert (fault.code, fault.cell and fault.cell.row) == ("GSM2060", first)
    with pytest.raises(Unreadable) if first is not None else nullcontext():
        check_keys("f", b"[" + b",\n".join(data.split(b"\n")) + b"]")


def test_only_the_columns_that_are_read_count() -> None:
    data = b'{"k": 1, "other": 1, "other": 2}\n{"k": 2, "deep": {"k": 1}, "list": [{"k": 3, "k": 4}]}\n'
    assert read_json_lines(data, "f", ["k"], FileLimits()).columns["k"].to_list() == [1, 2]
    with pytest.raises(Unreadable) as raised:
        read_json_lines(data, "f", ["k", "other"], FileLimits())
    assert raised.value.faults[0].code == "GSM2060"


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [("kubernetes", "kubernetes.json", "kind"), ("gavel_throughputs", "gavel_throughputs.json", "k80"),
     ("philly", "philly_log.json", "status")],
)  # fmt: skip
def test_repeated_keys_of_documents(name: str, file: str, key: str) -> None:
    text = (SAMPLES / file).read_text(encoding="utf-8")
    settings = {o.name: o.default for o in reader(name).options if o.default is not None}
    reader(name).read(Raw("f", text.encode()), settings)
    at = text.index(f'"{key}"')
    damaged = text[:at] + f'"{key}": {{}},\n' + text[at:]
    if name != "gavel_throughputs":
        damaged = text[:at] + f'"{key}": null,\n' + text[at:]
    with pytest.raises(Unreadable) as raised:
        reader(name).read(Raw("f", damaged.encode()), settings)
    [fault] = raised.value.faults
    assert (fault.code, fault.cell and fault.cell.column) == ("GSM2060", key)
    assert fault.cell is not None
    assert fault.cell.row == damaged.count("\n", 0, at) + 2


# --- large integers --------------------------------------------------------------------------------------------------

EXACT, INEXACT = [2**53, -(2**53) + 1, 2**60, 3 * 2**55], [2**53 + 1, -(2**53) - 1, 1700000000123456789, 2**63 + 1]


def write(folder: Path, kind: str, values: list[Any]) -> str:
    keys = [f"k{n}" for n in range(len(values))]
    if kind == "csv":
        (folder / "d.csv").write_text("k,p\n" + "".join(f"{k},{v}\n" for k, v in zip(keys, values, strict=True)))
    elif kind == "jsonl":
        (folder / "d.jsonl").write_text(
            "".join(f'{{"k": "{k}", "p": {v}}}\n' for k, v in zip(keys, values, strict=True))
        )
    elif kind == "parquet":
        whole = all(isinstance(v, int) for v in values)
        column = pl.Series([Decimal(v) for v in values], dtype=pl.Decimal(38, 0 if whole else 1))
        pl.DataFrame({"k": keys, "p": column}).write_parquet(folder / "d.parquet")
    else:
        with sqlite3.connect(folder / "d.sqlite") as base:
            base.execute("CREATE TABLE t (k TEXT, p)")
            base.executemany("INSERT INTO t VALUES (?, ?)", zip(keys, values, strict=True))
    return f"d.{kind}"


@pytest.mark.parametrize("mixed", [False, True], ids=["integers", "among others"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "sqlite"])
def test_integers_that_are_not_exact(kind: str, mixed: bool, tmp_path: Path) -> None:
    others = [1.5] if mixed and kind != "parquet" else [7]
    table = 'table "t"' if kind == "sqlite" else ""
    for value in EXACT:
        diagnostics, result = found(tmp_path, write(tmp_path, kind, [*others, value]), table)
        assert result is not None, diagnostics
        assert result["r"]["value"].to_list() == [float(others[0]), float(value)]
        (tmp_path / f"d.{kind}").unlink()
    for value in INEXACT:
        if kind == "sqlite" and value >= 2**63:
            continue
        diagnostics, result = found(tmp_path, write(tmp_path, kind, [*others, value]), table)
        assert [d.code for d in diagnostics] == ["GSM1007"], (value, diagnostics)
        assert "too many digits to be exact" in diagnostics[0].message
        assert str(value) in diagnostics[0].message
        (tmp_path / f"d.{kind}").unlink()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_large_integers_as_labels_stay_distinct(kind: str, tmp_path: Path) -> None:
    labels = [2**53, 2**53 + 1, 2**63 + 1, 2**63 + 2]
    if kind == "parquet":
        pl.DataFrame({"k": pl.Series(labels, dtype=pl.UInt64), "p": [1.0, 2.0, 3.0, 4.0]}).write_parquet(
            tmp_path / "d.parquet"
        )
    else:
        rows = zip(labels, [1, 2, 3, 4], strict=True)
        text = [f"{k},{p}\n" if kind == "csv" else f'{{"k": {k}, "p": {p}}}\n' for k, p in rows]
        (tmp_path / f"d.{kind}").write_text("k,p\n" * (kind == "csv") + "".join(text))
    diagnostics, result = found(tmp_path, f"d.{kind}")
    assert result is not None, diagnostics
    assert [str(label) for label in result["r"]["i"]] == list(map(str, labels))


def test_measured_values_may_have_more_digits(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("k,p\na,1700000000123456789.0\nb,1.7e18\nc,0.1234567890123456789\n")
    assert found(tmp_path, "d.csv")[1]["r"]["value"].to_list() == [1.7000000001234568e18, 1.7e18, 0.12345678901234568]


# --- labels ----------------------------------------------------------------------------------------------------------

TWINS = [
    ("Größe", unicodedata.normalize("NFD", "Größe")), ("j1", "j1\u200b"), ("a b", "a\u00a0b"), ("j", "j\ufeff"),
    ("x", "x\u00ad"), ("é", "e\u0301\u200b"), ("Å", "\u212b"), ("a", "a\u202e"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*TWINS, *((b, a) for a, b in TWINS)])
def test_elements_that_look_the_same(one: str, other: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(f"k,p\n{one},1\nfar,2\n{other},3\n", encoding="utf-8")
    diagnostics, _ = found(tmp_path, "d.csv")
    assert [d.code for d in diagnostics] == ["GSM2061"]
    assert diagnostics[0].primary is not None
    assert str(diagnostics[0].primary).startswith("d.csv:4")
    assert "U+" in diagnostics[0].message or "\u212b" in (one, other)
    # as a key of another file it is unknown, and the proposal says why
    (tmp_path / "d.csv").write_text(f"k,p\n{one},1\n", encoding="utf-8")
    (tmp_path / "e.csv").write_text(f"k,p\n{other},1\n", encoding="utf-8")
    text = MODEL.replace('data "FILE" TABLE { I = k; p[k] = p; }', 'data "d.csv" { I = k; } data "e.csv" { p[k] = p; }')
    with pytest.raises(gs.DiagnosticError) as raised:
        gs.loads(text, base=tmp_path).solve("S")
    unknown = next(d for d in raised.value.diagnostics if d.code == "GSM2103")
    assert "It looks the same" in (unknown.help or "")


@pytest.mark.parametrize("label", ["j\u200b", "\u200ej", "a\u2060b", "x\u00ad"])
def test_invisible_letters_are_a_warning(label: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(f"k,p\n{label},1\nfar,2\n", encoding="utf-8")
    diagnostics, result = found(tmp_path, "d.csv")
    assert [(d.code, d.severity) for d in diagnostics] == [("GSM2062", gs.Severity.WARNING)]
    assert result["r"]["i"].to_list() == [label, "far"]


@pytest.mark.parametrize("label", ["Größe", "数", "naïve", "می\u200cخواهم", "Straße 5", "e\u0301"])
def test_letters_of_all_scripts_are_labels(label: str, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(f"k,p\n{label},1\nfar,2\n", encoding="utf-8")
    diagnostics, result = found(tmp_path, "d.csv")
    assert diagnostics == []
    assert result["r"]["i"].to_list() == [label, "far"]


def test_values_from_python_are_looked_at_too() -> None:
    text = MODEL.replace('data "FILE" TABLE { I = k; p[k] = p; }', "I = { a }; p = 1;")
    model = gs.loads(text)
    model.set("I", ["a", "a\u200b"])
    with pytest.raises(gs.DiagnosticError, match="GSM2061"):
        model.solve("S")
    model.set("I", ["a"])
    model.set("p", {"a": 2**53 + 1})
    with pytest.raises(gs.DiagnosticError, match="GSM1007"):
        model.solve("S")
    model.set("p", {"a": Decimal("0.5")})
    assert model.solve("S")["r"]["value"].to_list() == [0.5]
