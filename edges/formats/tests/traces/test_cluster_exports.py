"""Accounting records of Slurm and exports of Kubernetes, with rows computed by hand."""

from __future__ import annotations

import pytest
from trace_help import fault, first, read_text, reasons, sample


def test_sacct() -> None:
    table = sample("sacct", "sacct.txt", timezone="America/New_York")
    assert table.rows == 8
    assert reasons(table.dropped) == {
        "a line without 13 cells": (1, 9), "Start is not a time": (1, 8), "never started": (1, 4),
    }  # fmt: skip
    assert next(d.text for d in table.dropped if d.first == 8) == "soon"
    assert reasons(table.filtered) == {
        "step of a job": (1, 3), "earlier attempt of a requeued job": (1, 5), "fewer than 1 GPUs": (1, 6),
    }  # fmt: skip
    assert first(table) == {
        "job": "12", "submitted": 0.0, "gpus": 2, "nodes": 1, "duration": 3600.0, "status": "COMPLETED", "vc": "gpu",
        "user": "ann", "cpus": 8, "memory": 65536.0, "gpu_types": "a100", "started": 600.0, "ended": 4200.0,
        "wait": 600.0, "requested": 86400.0, "account": "ml", "name": 'train "x"',
    }  # fmt: skip
    # Submitted at its first attempt; clocks go forward on 12 March at 2:00, so 48 h are 47 h.
    assert first(table, 1) == {
        "job": "15", "submitted": 120.0, "gpus": 3, "nodes": 2, "duration": 90030.0, "status": "CANCELLED", "vc": "gpu",
        "user": "bob", "cpus": 8, "memory": 512.0, "gpu_types": "a100|v100", "started": 47 * 3600.0 + 32 * 60,
        "ended": 47 * 3600.0 + 32 * 60 + 90030, "wait": 47 * 3600.0 + 30 * 60, "requested": 3600.0, "account": "cv",
        "name": "p",
    }  # fmt: skip


def test_other_forms_of_sacct() -> None:
    older = "JobIDRaw|Submit|Start|ElapsedRaw|ReqGRES|AllocNodes|TimelimitRaw|\n7|100|160|30|gpu:a100:2,gpu:1|2|5|\n"
    assert first(read_text("sacct", older)) == {
        "job": 7, "submitted": 0.0, "gpus": 3, "nodes": 2, "duration": 30.0, "gpu_types": "a100", "started": 60.0,
        "wait": 60.0, "requested": 300.0,
    }  # fmt: skip
    wide = fault("sacct", "JobID  User\n------ ------\n12     ann\n")
    assert wide.code == "GSM2011"
    assert wide.help is not None
    assert wide.help.startswith("write the file by `sacct --parsable2")


def test_kubernetes() -> None:
    table = sample("kubernetes", "kubernetes.json")
    assert reasons(table.dropped) == {"never started": (1, 4)}
    assert reasons(table.filtered) == {"fewer than 1 GPUs": (1, 5)}
    assert table.frame["job"].to_list() == ["cv/bert", "ml/bert", "cv/note-1"]
    assert first(table) == {
        "job": "cv/bert", "submitted": 0.0, "gpus": 7, "nodes": 4, "duration": 1800.0, "status": "Failed", "vc": "cv",
        "cpus": 0.0, "memory": 0.0, "started": 0.0, "ended": 1800.0, "wait": 0.0,
    }  # fmt: skip
    assert first(table, 1) == {
        "job": "ml/bert", "submitted": 1800.0, "gpus": 8, "nodes": 2, "duration": 3600.0, "status": "Complete",
        "vc": "ml", "user": "ann", "cpus": 1.0, "memory": 2 * (16 * 1024.0 + 512), "started": 1860.0, "ended": 5460.0,
        "wait": 60.0, "queue": "research", "priority": "high",
    }  # fmt: skip
    assert first(table, 2) | {"cpus": 0, "memory": 0} == {
        "job": "cv/note-1", "submitted": 3600.0, "gpus": 1, "nodes": 1, "duration": 60.0, "status": "Succeeded",
        "vc": "cv", "cpus": 0, "memory": 0, "started": 3610.0, "ended": 3670.0, "wait": 10.0, "owner": "note",
        "node": "n7",
    }  # fmt: skip


@pytest.mark.parametrize(("text", "code"), [("[", "GSM2008"), ('{"items": []}', "GSM2010"), ("[3]", "GSM2008"),
                                            ('{"a": 1}', "GSM2008"), ("[" * 100_000, "GSM2008")])  # fmt: skip
def test_json_without_objects(text: str, code: str) -> None:
    assert fault("kubernetes", text).code == code
