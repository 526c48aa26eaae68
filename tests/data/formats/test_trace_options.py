"""The options by which traces are cut, against the same done row by row."""

from __future__ import annotations

import math
import random

import pytest
from trace_help import fault, read_text, reasons

Row = tuple[str, float, int, float, str, str]


def helios(rows: list[Row]) -> str:
    head = "job_id,submit_time_s,num_gpus,duration_s,final_status,vc\n"
    return head + "".join(",".join(map(str, row)) + "\n" for row in rows)


def random_rows(draw: random.Random, count: int) -> list[Row]:
    return [
        (f"j{i}", float(draw.randint(5, 60)), draw.randint(1, 8), float(draw.randint(1, 30)),
         draw.choice(["done", "failed", "killed"]), draw.choice("abc"))
        for i in range(count)
    ]  # fmt: skip


def by_hand(rows: list[Row], options: dict[str, object]) -> list[tuple[str, float]]:
    """Names and submissions of what is kept."""
    first_of_all = min(row[1] for row in rows)
    zero = first_of_all if options["clock"] == "first" else 0.0
    kept = []
    for row in sorted(rows, key=lambda row: row[1]):
        _, submitted, gpus, duration, status, vc = row
        if options["status"] and status not in str(options["status"]).split("|"):
            continue
        if options["vc"] and vc not in str(options["vc"]).split("|"):
            continue
        if not options["after"] <= submitted - zero < options["before"]:  # type: ignore[operator]
            continue
        if gpus <= options["most_gpus"] and duration >= options["least_duration"]:  # type: ignore[operator]
            kept.append(row)
    kept = kept[options["skip"] :][: options["first"]]  # type: ignore[misc]
    shift = kept[0][1] if kept and options["clock"] == "first" else 0.0
    return [(row[0], row[1] - shift) for row in kept]


@pytest.mark.quick(6)
@pytest.mark.parametrize("seed", range(60))
def test_cutting_is_what_it_says(seed: int) -> None:
    draw = random.Random(seed)
    rows = random_rows(draw, draw.randint(1, 25))
    options = {
        "first": draw.choice([1, 3, 1 << 62]),
        "skip": draw.choice([0, 0, 2]),
        "after": draw.choice([-math.inf, 0.0, 10.0]),
        "before": draw.choice([math.inf, 40.0]),
        "clock": draw.choice(["first", "file"]),
        "status": draw.choice(["", "done", "done|killed"]),
        "vc": draw.choice(["", "a|b"]),
        "most_gpus": draw.choice([1 << 62, 6]),
        "least_duration": draw.choice([0.0, 5.0]),
    }
    expected = by_hand(rows, options)
    if not expected:
        assert fault("helios", helios(rows), **options).code == "GSM2018"
        return
    table = read_text("helios", helios(rows), **options)
    assert list(table.frame.select("job", "submitted").iter_rows()) == expected
    assert table.dropped == ()


@pytest.mark.parametrize("seed", range(12))
def test_unusable_rows_outside_the_requested_time_are_silent(seed: int) -> None:
    """In a file in the order of its times, only unusable rows between requested ones are reported."""
    draw = random.Random(seed)
    count = draw.randint(8, 30)
    rows = [(f"j{i}", float(10 * i), 1, 5.0, "done", "a") for i in range(count)]
    bad = {i: draw.choice(["gpus", "duration", "time"]) for i in range(1, count) if draw.random() < 0.3}
    cells = [list(map(str, row)) for row in rows]
    for i, what in bad.items():
        cells[i][{"time": 1, "gpus": 2, "duration": 3}[what]] = {"time": "?", "gpus": "1.5", "duration": "-4"}[what]
    head = "job_id,submit_time_s,num_gpus,duration_s,final_status,vc\n"
    text = head + "".join(",".join(row) + "\n" for row in cells)
    after, before = float(draw.randint(0, 3) * 10 * count // 10), float(draw.randint(6, 11) * 10 * count // 10)
    good = [i for i in range(count) if i not in bad]
    kept = [i for i in good if after <= 10 * i < before]
    table = read_text("helios", text, after=after, before=before)
    assert table.frame["job"].to_list() == [f"j{i}" for i in kept]
    last_before = max((i for i in good if i < kept[0]), default=-1)
    first_after = min((i for i in good if i > kept[-1]), default=count)
    inside = [i for i in bad if last_before < i < first_after]
    assert sum(d.rows for d in table.dropped) == len(inside)
    assert min((d.first or 0 for d in table.dropped), default=None) == min((i + 2 for i in inside), default=None)
    # without an order of times nothing is known of them
    reversed_text = head + "".join(",".join(row) + "\n" for row in reversed(cells[:5] + cells[5:][::-1]))
    unordered = read_text("helios", reversed_text, after=after, before=before)
    assert sum(d.rows for d in unordered.dropped) == len(bad)


def test_rows_excluded_are_counted_under_the_first_reason() -> None:
    rows: list[Row] = [
        ("a", 0.0, 1, 5.0, "done", "x"), ("b", 1.0, 9, 5.0, "failed", "x"), ("c", 2.0, 9, 1.0, "done", "x"),
        ("d", 3.0, 1, 1.0, "done", "x"), ("e", 4.0, 1, 5.0, "done", "x"),
    ]  # fmt: skip
    table = read_text("helios", helios(rows), status="done", most_gpus=4, least_duration=2.0, first=1)
    assert table.frame["job"].to_list() == ["a"]
    assert reasons(table.filtered) == {
        "another status": (1, 3),
        "more than 4 GPUs": (1, 4),
        "shorter than 2 s": (1, 5),
        "after the requested number of rows": (1, 6),
    }


def test_equal_submissions_keep_the_order_of_the_file() -> None:
    rows: list[Row] = [(f"j{i}", 7.0, 1, 1.0, "done", "x") for i in (3, 1, 2)]
    assert read_text("helios", helios(rows)).frame["job"].to_list() == ["j3", "j1", "j2"]


def test_deadlines_go_with_the_clock() -> None:
    text = (
        "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
        "a,100,1,m,150,1,1,10\nb,130,1,m,129,1,1,10\nc,130,1,m,131,1,1,10\n"
    )
    table = read_text("elasticflow", text, skip=1)
    assert table.frame.select("job", "submitted", "deadline").rows() == [("c", 0.0, 1.0)]
    assert reasons(table.dropped) == {"deadline before the submission": (1, 3)}


def test_a_status_that_is_nowhere_is_told() -> None:
    rows: list[Row] = [("a", 0.0, 1, 5.0, "done", "x")]
    found = fault("helios", helios(rows), status="don")
    assert found.help == "did you mean `done`?"
    assert found.notes == ("1: another status (first on line 2)",)


def test_times_of_day_begin_at_the_first_midnight() -> None:
    text = "submit_time,duration_s,num_gpus,vc\n2017-03-02 00:00:01,5,1,a\n2017-03-01 23:59:59.5,5,1,a\n"
    assert read_text("philly", text, clock="file").frame["submitted"].to_list() == [86399.5, 86401.0]
    assert read_text("philly", text).frame["submitted"].to_list() == [0.0, 1.5]
    assert read_text("philly", text).frame["job"].to_list() == [2, 1]
