"""Data that distinguish elements declared identical: GSM3013, for complete sets and for their classes."""

from __future__ import annotations

import pytest
from found_codes import message_values
from rented import line_of, rented

import gpusched_dsl as gs
from gpusched_dsl.language.source import Span

TABLE = "table Machines: size = p 1 q 1 r 2;"


def declared(how: str, text: str) -> str:
    assert "set Machines;" in text
    return text.replace("set Machines;", f"set Machines {how};")


def found(text: str) -> gs.Diagnostic:
    with pytest.raises(gs.DiagnosticError) as error:
        gs.loads(text).ground()
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "GSM3013"
    assert isinstance(diagnostic.primary, Span)
    assert diagnostic.primary.line == line_of(text, "set Machines")
    return diagnostic


def test_two_elements_and_what_tells_them_apart_are_named() -> None:
    message = found(declared("identical", rented(data=TABLE, machines=""))).message
    assert message == "`Machines` is declared `identical`, but `p` and `r` differ in `size`" or (
        message == "`Machines` is declared `identical`, but `q` and `r` differ in `size`"
    )


def test_of_one_class() -> None:
    kinds = "param kind[Machines] within Jobs;"
    rows = "constraint c[j in Jobs]: sum[m in Machines where kind[m] == j] on[m] >= 1;"
    data = "table Machines: size kind = p 1 a q 2 b r 3 b;"
    message = found(declared("identical by kind", rented(kinds, rows, data, machines=""))).message
    assert message_values(message) == ("Machines", "identical", "q", "r", "kind", "size")


def test_a_set_read_by_rows() -> None:
    text = rented("set Fast within Machines;", "constraint c: sum[m in Fast] on[m] >= 1;", "Fast = { q };")
    assert "differ in `Fast`" in found(declared("identical", text)).message


def test_what_agrees_is_fine() -> None:
    kinds = "param kind[Machines] within Jobs;"
    gs.loads(declared("identical", rented())).ground()
    data = "table Machines: size kind = p 1 a q 2 b r 2 b;"
    gs.loads(declared("identical by kind", rented(kinds, "", data, machines=""))).ground()
    # Classes may be stated finer than the data ask for.
    data = "table Machines: size kind = p 2 a q 2 b r 2 b;"
    gs.loads(declared("identical by kind", rented(kinds, "", data, machines=""))).ground()


def test_data_that_no_row_reads_contradict_nothing() -> None:
    data = "table Machines: rack = p 1 q 2 r 3;"
    gs.loads(declared("identical", rented("param rack[Machines];", "", data, machines=""))).ground()


def test_text_that_tells_elements_apart_is_no_contradiction_of_the_data() -> None:
    text = rented(rows='constraint c: on["p"] <= 0;', data=TABLE, machines="")
    gs.loads(declared("identical", text)).ground()
