"""Irregular traces: every row is kept or skipped with a reason, and invalid files are reported."""

from __future__ import annotations

import random

import pytest
from trace_help import SAMPLES, check, fault, first, read_text, reasons

from gpusched_dsl.data.formats.registry import reader, shipped
from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import Unreadable

HEAD = "job_id,submit_time_s,num_gpus,duration_s,final_status,vc,num_nodes\n"


def helios(*rows: str) -> str:
    return HEAD + "".join(row + "\n" for row in rows)


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("j,0,0,5,done,x,1", "no GPUs"),
        ("j,0,-2,5,done,x,1", "no GPUs"),
        ("j,0,1.5,5,done,x,1", "number of GPUs is not an integer"),
        ("j,0,1e300,5,done,x,1", "number of GPUs is not an integer"),
        ("j,0,NaN,5,done,x,1", "number of GPUs is not an integer"),
        ("j,0,,5,done,x,1", "no number of GPUs"),
        ("j,0,1,,done,x,1", "no duration"),
        ("j,0,1,0,done,x,1", "no duration"),
        ("j,0,1,-5,done,x,1", "no duration"),
        ("j,0,1,nan,done,x,1", "duration is not a number"),
        ("j,0,1,inf,done,x,1", "duration is not a number"),
        ("j,0,1,1e999,done,x,1", "duration is not a number"),
        ("j,0,1,5 s,done,x,1", "duration is not a number"),
        ("j,soon,1,5,done,x,1", "submission time is not a number"),
        ("j,,1,5,done,x,1", "no submission time"),
        (",0,1,5,done,x,1", "no job"),
        ("j,0,1,5,,x,1", "no status"),
        ("j,0,1,5,done,x,two", "number of nodes is not an integer"),
    ],
)
def test_rows_that_cannot_be_used(row: str, reason: str) -> None:
    table = read_text("helios", helios("good,1,2,3,done,x,1", row, row.replace("j,", "k,", 1)))
    assert table.frame["job"].to_list() == ["good"]
    assert reasons(table.dropped) == {reason: (2, 3)}
    assert table.rows == 3


def test_what_is_not_needed_may_be_empty() -> None:
    table = read_text("helios", helios("a,1,2,3,done,,", "b,2,2,3,done,x,4"))
    assert table.dropped == ()
    assert first(table) == {"job": "a", "submitted": 0.0, "gpus": 2, "duration": 3.0, "status": "done"}
    assert table.frame["nodes"].to_list() == [None, 4]


def test_of_jobs_named_alike_the_first_is_kept() -> None:
    table = read_text("helios", helios("5,9,1,3,done,x,1", "5,1,1,3,done,x,1", "6,1,1,3,done,x,1"))
    assert table.frame["job"].to_list() == [6, 5]
    assert reasons(table.dropped) == {"an earlier row has the same job": (1, 3)}


def test_a_curve_that_cannot_be_read() -> None:
    text = (SAMPLES / "chronus.csv").read_text()
    for broken in ("1105-12,10", "1105-x,10-5", "-,10", "1105--3,10-5-1", "nan,10"):
        table = read_text("chronus", text.replace("1105,10", broken, 1))
        assert reasons(table.dropped)["an invalid curve of values"] == (1, 2), broken


def test_gavel_lines_of_another_length_are_left_out() -> None:
    text = (SAMPLES / "gavel_10.trace").read_text() + "A3C\tpython\n"
    table = read_text("gavel", text)
    assert table.frame.height == 4
    assert reasons(table.dropped) == {"a line without 10 cells": (1, 5)}
    found = fault("gavel", "A3C\tpython\n")
    assert (found.code, str(found.cell)) == ("GSM2013", "file:1")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"k80": ', "GSM2008"),
        ('{"k80": []}', "GSM2008"),
        ('{"k80": {"job": 3}}', "GSM2008"),
        ("{" * 100_000, "GSM2008"),
    ],
)
def test_json_that_holds_no_speeds(text: str, code: str) -> None:
    assert fault("gavel_throughputs", text).code == code
    assert fault("gavel_colocated", text).code == code


@pytest.mark.parametrize(
    ("text", "code"), [("[", "GSM2008"), ("[]", "GSM2010"), ("[3]", "GSM2008"), ('[{"attempts": 3}]', "GSM2008"),
                       ('[{"jobid": "a", "attempts": [{"detail": 3}]}]', "GSM2008"), ("[" * 100_000, "GSM2008")],
)  # fmt: skip
def test_json_that_is_no_log(text: str, code: str) -> None:
    assert fault("philly", text).code in (code, "GSM2018")


def test_odd_entries_of_json() -> None:
    text = """{"k80": {"A3C": {"null": 1}, "('A', 1)": {"null": "fast", "('B', 1)": [1], "('C', 1)": [2, 3]},
               "('B', 0)": {"null": 2.5}, "('C', 2)": {"null": NaN, "('A', 1)": null}, "('D', 3)": {"null": 4.5}}}"""
    table = read_text("gavel_throughputs", text)
    assert table.frame.rows() == [("k80", "D", "D", None, 3, 4.5)]
    assert sum(d.rows for d in table.dropped) == 4
    both = read_text("gavel_colocated", text)
    assert both.frame.select("job_type", "other_job_type", "speed", "other_speed").rows() == [("A", "C", 2.0, 3.0)]


def test_too_many_nodes() -> None:
    text = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n9000000000,9000000000,8,64,256\n"
    table = read_text("tiresias_nodes", text)
    assert table.frame.height == 0
    assert [d.rows for d in table.dropped] == [1]


@pytest.mark.parametrize("name", sorted({*shipped(False)} - {"table"}))  # which reads any table
def test_files_that_are_no_traces(name: str) -> None:
    for content, codes in (
        ("", {"GSM2010"}),
        ("\n\n", {"GSM2010"}),
        ("name,colour\nx,red\n", {"GSM2008", "GSM2011", "GSM2013", "GSM2032"}),
        (b"\xff\xfea\0", {"GSM2009"}),
        (b"\x00\x01\x02", {"GSM2009"}),
        (b"PAR1", {"GSM2009"}),
        ("job\xe9".encode("latin-1"), {"GSM2009"}),
    ):
        assert fault_with_needs(name, content) in codes, (name, content)


def fault_with_needs(name: str, content: str | bytes) -> str:
    """The code, with something for the options that must be given."""
    needed = {o.name: {int: 1, float: 1.0, str: "x", bool: True}[o.type] for o in reader(name).options
              if o.default is None}  # fmt: skip
    return fault(name, content, **needed).code


SOURCES = [
    ("philly", "philly.csv"), ("philly", "philly_log.json"), ("helios", "helios.csv"),
    ("openb_pods", "openb_pods.csv"), ("chronus", "chronus.csv"),
    ("chronus_values", "chronus.csv"), ("gavel", "gavel.csv"), ("gavel", "gavel_10.trace"), ("gavel", "gavel_7.trace"),
    ("gavel_throughputs", "gavel_throughputs.json"), ("gavel_colocated", "gavel_throughputs.json"),
    ("gavel_colocated", "gavel_colocated.csv"), ("sia_placements", "sia_placements.csv"), ("swf", "swf.swf"),
    ("sacct", "sacct.txt"), ("kubernetes", "kubernetes.json"), ("jobs", "helios.csv"),
    ("elasticflow", "elasticflow.csv"), ("shockwave", "shockwave.csv"), ("tiresias_nodes", "tiresias_nodes.csv"),
]  # fmt: skip


@pytest.mark.quick(3)
@pytest.mark.parametrize(("name", "file"), SOURCES)
def test_damage_never_crashes_a_reader(name: str, file: str) -> None:
    """Cells and bytes are replaced at random: a table whose rows add up comes out, or what is wrong is told."""
    damaged_runs(name, file, 25)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file"), SOURCES)
def test_much_damage_never_crashes_a_reader(name: str, file: str) -> None:
    damaged_runs(name, file, 400)


def damaged_runs(name: str, file: str, runs: int) -> None:
    data = (SAMPLES / file).read_bytes()
    settings = {o.name: o.default for o in reader(name).options if o.default is not None}
    for seed in range(runs):
        damaged = damage(data, random.Random(seed))
        try:
            table = reader(name).read(Raw("file", damaged), settings)
        except Unreadable as error:
            codes = {f.code[:5] for f in error.faults}
        else:
            codes = {"GSM20"}
            check(name, table)
        assert codes == {"GSM20"}


ODD = [
    b"", b"NaN", b"-1", b"0", b"1e999", b"x", b'"', b"-", b"2017-13-45 99:99:99", b"9" * 30, b"|", b"null", b"\xc3\xa9",
]  # fmt: skip


def damage(data: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.randint(1, 6)):
        separators = [at for at, byte in enumerate(data) if byte in b",\t\n "]
        how = draw.random()
        if how < 0.7 and len(separators) > 1:
            at = draw.randrange(len(separators) - 1)
            data = data[: separators[at] + 1] + draw.choice(ODD) + data[separators[at + 1] :]
        elif how < 0.85 and data:
            at = draw.randrange(len(data))
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        else:
            at = draw.randrange(len(data) + 1)
            data = data[:at] + data[at + draw.randint(0, 20) :]
    return data
