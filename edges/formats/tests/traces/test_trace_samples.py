"""Every reader of traces on excerpts of published files, with rows computed by hand."""

from __future__ import annotations

import polars as pl
import pytest
from trace_help import SAMPLES, first, read_text, reasons, sample

from gpusched_dsl.data.formats.registry import generator, reader, shipped
from gpusched_dsl.data.formats.shape import Format
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.units import parse_unit_text


def test_philly() -> None:
    table = sample("philly", "philly.csv")
    assert (table.rows, table.dropped, table.filtered) == (8, (), ())
    assert first(table) == {
        "job": 1, "submitted": 0.0, "gpus": 1, "duration": 3256045.0, "vc": "6214e9", "gpu_time": 3256045.0,
    }  # fmt: skip
    # 03:58:57 to 09:57:50 are 5 h 58 min 53 s; the clock of the file begins at midnight.
    assert table.frame["submitted"][1] == 5 * 3600 + 58 * 60 + 53
    kept = sample("philly", "philly.csv", clock="file")
    assert kept.frame["submitted"][0] == 3 * 3600 + 58 * 60 + 57
    assert kept.frame["submitted"][7] == 3 * 86400 + 7 * 3600 + 21 * 60 + 26


def test_the_original_log_of_philly() -> None:
    table = sample("philly", "philly_log.json")
    assert reasons(table.dropped) == {
        "no submission time": (1, 3), "no number of GPUs": (1, 2), "no GPUs": (1, 5),
    }  # fmt: skip
    assert table.frame["job"].to_list() == ["application_1_4", "application_1_1"]
    assert first(table) == {
        "job": "application_1_4", "submitted": 0.0, "gpus": 1, "nodes": 1, "duration": 40.0, "status": "Killed",
        "vc": "v1", "user": "u1", "gpu_time": 40.0,
    }  # fmt: skip
    assert first(table, 1) == {
        "job": "application_1_1", "submitted": 7 * 3600.0 + 60, "gpus": 4, "nodes": 2, "duration": 3660.0,
        "status": "Pass", "vc": "v1", "user": "u1", "gpu_time": 2 * 60.0 + 4 * 3600.0,
    }  # fmt: skip


def test_attempts_of_philly() -> None:
    """The former attempt ends where the next one is submitted; the waits of both are known."""
    table = sample("philly_attempts", "philly_log.json", clock="file")
    assert table.frame["job"].to_list() == ["application_1_4/1", "application_1_1/1", "application_1_1/2"]
    first_try, second = first(table, 1), first(table, 2)
    assert (first_try["status"], second["status"]) == ("Failed", "Pass")
    assert (first_try["duration"], second["duration"]) == (60.0, 3600.0)
    assert second["submitted"] == first_try["started"] + first_try["duration"]
    assert (second["attempt"], second["of_job"]) == (2, "application_1_1")
    # All attempts together have the GPU time of the job in the other format.
    whole = sample("philly", "philly_log.json").frame.filter(pl.col("job") == "application_1_1")
    tries = table.frame.filter(pl.col("of_job") == "application_1_1")
    assert (tries["gpus"] * tries["duration"]).sum() == whole["gpu_time"][0]


KALOS = (
    "job_id,user,node_num,gpu_num,state,submit_time,start_time,end_time,duration,queue\n"
    "dlctk696s0jbvitv,uf794,8,64,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
    "2023-05-17 11:01:16+00:00,18,10.0\n"
    "dlc1t2ypl09b8qtp,uf794,8,64,CANCELLED,2023-05-17 11:28:42+00:00,2023-05-17 11:28:54+00:00,"
    "2023-05-17 11:30:04+00:00,82,12.0\n"
)


def test_acme() -> None:
    table = sample("acme", "acme.csv", clock="file")
    assert reasons(table.dropped) == {"no GPUs": (1, 4), "never started": (1, 5)}
    assert table.facts == ("UnixStartTime: 1677542400",)  # 2023-02-28, midnight in UTC
    assert first(table) == {
        "job": 5778432, "submitted": 58702.0, "gpus": 8, "nodes": 1, "cpus": 128.0, "user": "u5907",
        "status": "FAILED", "started": 58734.0, "ended": 58851.0, "duration": 117.0, "workload": "Other",
    }  # fmt: skip
    kalos = read_text("acme", KALOS)
    assert kalos.frame["duration"].to_list() == [8.0, 70.0]  # the file adds the time in the queue: 18 and 82
    assert kalos.frame["started"].to_list() == [10.0, 1676.0]


def test_spot_gpus() -> None:
    table = sample("spot_gpu", "spot_gpu.csv")
    assert first(table, 2) == {
        "job": 437260, "submitted": 9589663.0, "gpus": 16, "workers": 16, "duration": 41060.0, "cpus": 15.0,
        "vc": "57", "gpu_types": "A100-SXM4-80GB", "qos": "Spot",
    }  # fmt: skip
    nodes = sample("spot_gpu_nodes", "spot_gpu_nodes.csv")
    assert first(nodes, 3) == {"node": 3, "gpus": 8, "gpu_type": "A100-SXM4-80GB", "cpus": 128.0}


def test_requests_for_images() -> None:
    table = sample("genai_requests", "genai_requests.csv")
    assert reasons(table.dropped) == {"no duration": (1, 4)}
    assert first(table, 1) == {
        "job": 2, "submitted": 20.0, "duration": 8.5, "user": "G0001", "network": "M0001", "batch_size": 2.0,
        "iterations": 20.0, "status": "SUCCEED", "kind": "IMG_2_IMG", "adapters": 2, "gpus": 1,
    }  # fmt: skip


def test_helios() -> None:
    table = sample("helios", "helios.csv", status="COMPLETED|FAILED")
    assert table.frame["job"].to_list() == [765566, 765971, 765991, 766001]
    assert table.frame["submitted"].to_list() == [0.0, 46492.0, 47035.0, 47356.0]
    assert reasons(table.filtered) == {"another status": (4, 2)}
    assert first(table) == {
        "job": 765566, "submitted": 0.0, "gpus": 128, "nodes": 16, "duration": 56269.0, "status": "COMPLETED",
        "vc": "vcvGl", "user": "uH3om",
    }  # fmt: skip


def test_helios_as_it_was_published() -> None:
    text = (
        "job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue,vc\n"
        "7,u1,8,32,1,COMPLETED,2020-04-02 00:00:10,2020-04-02 00:00:20,2020-04-02 00:01:20,60,10,vc1\n"
        "6,u2,0,4,1,FAILED,2020-04-01 23:00:00,2020-04-01 23:00:01,2020-04-01 23:00:02,1,1,vc1\n"
    )
    table = read_text("helios", text, clock="file")
    assert first(table) == {
        "job": 7,
        "submitted": 86410.0,
        "gpus": 8,
        "nodes": 1,
        "duration": 60.0,
        "status": "COMPLETED",
        "vc": "vc1",
        "user": "u1",
        "cpus": 32.0,
        "wait": 10.0,
    }  # fmt: skip  (the clock begins at the first midnight, be the row there usable or not)
    assert reasons(table.dropped) == {"no GPUs": (1, 3)}


def test_openb_pods() -> None:
    table = sample("openb_pods", "openb_pods.csv")
    assert table.rows == 12
    assert reasons(table.dropped) == {"never started": (1, 10)}
    assert reasons(table.filtered) == {"fewer than 1 GPUs": (1, 7)}
    assert first(table, 1) == {
        "job": "openb-pod-0001", "submitted": 427061.0, "gpus": 1, "duration": 12475899.0, "status": "Running",
        "cpus": 6.0, "memory": 12288.0, "gpu_share": 0.46, "qos": "LS",
    }  # fmt: skip
    typed = dict(table.frame.select("job", "gpu_types").iter_rows())
    assert typed["openb-pod-0062"] == "P100"
    assert typed["openb-pod-0021"] == "G2|P100|T4|V100M16|V100M32"
    assert table.frame["duration"][table.frame["job"].to_list().index("openb-pod-0062")] == 10014257 - 10001606
    assert sample("openb_pods", "openb_pods.csv", least_gpus=0).frame.height == 11


def test_openb_nodes() -> None:
    table = sample("openb_nodes", "openb_nodes.csv")
    assert first(table) == {"node": "openb-node-0123", "gpus": 2, "gpu_type": "P100", "cpus": 64.0, "memory": 262144.0}
    assert reasons(table.filtered) == {"fewer than 1 GPUs": (2, 2)}
    assert sample("openb_nodes", "openb_nodes.csv", least_gpus=8).frame["gpu_type"].to_list() == ["V100M32"]


def test_pai() -> None:
    table = sample("pai", "pai.csv")
    assert table.frame["job"].to_list() == [1, 2, 3, 4, 5, 6]
    assert table.frame["submitted"].to_list() == pytest.approx([0, 2076.9984, 38354.04, 38445.12, 39256.92, 47327.04])
    assert table.frame["duration"][0] == pytest.approx(25.4081 * 3600)
    assert table.frame["gpus"][5] == 10


def test_elasticflow() -> None:
    table = sample("elasticflow", "elasticflow.csv")
    assert first(table, 1) == {
        "job": "23b8c1e9-3924-56de-3eb1-3b9046685257", "submitted": 2065.0, "gpus": 8, "duration": 3604.0,
        "deadline": 4920.0, "network": "inception3", "batch_size": 64, "iterations": 48266.0,
    }  # fmt: skip
    assert sample("elasticflow", "elasticflow.csv", clock="file").frame["deadline"][1] == 3720405.0


def test_chronus() -> None:
    table = sample("chronus", "chronus.csv")
    assert reasons(table.dropped) == {"no GPUs": (1, 7)}
    assert table.frame["job"].to_list() == [1, 0, 4, 2, 3]
    assert first(table) == {
        "job": 1, "submitted": 0.0, "gpus": 1, "duration": 98 * 60.0, "deadline": 128 * 60.0, "value": 10.0,
        "network": "mobilenet_v2", "iterations": 296.0, "vc": "vc_ed69ec", "best_effort": 0, "kind": "strict",
    }  # fmt: skip
    assert table.frame["deadline"][1] == (8555 + 1105 - 832) * 60
    assert table.frame["deadline"][3] is None
    assert table.frame["value"][3] is None


def test_curves_of_values_have_a_row_for_each_step() -> None:
    text = (SAMPLES / "chronus.csv").read_text().replace("1105,10", "1105-1200-1300.5,10-5-1")
    table = read_text("chronus_values", text)
    assert table.frame.filter(job=0).rows() == [(0, 1, 66300.0, 10.0), (0, 2, 72000.0, 5.0), (0, 3, 78030.0, 1.0)]
    assert table.frame.height == 6
    assert sorted(set(table.frame["job"])) == [0, 1, 3, 4]
    assert read_text("chronus_values", text, first=1).frame["job"].to_list() == [1]
    assert read_text("chronus", text).frame.filter(job=0)["deadline"][0] == (8555 + 1105 - 832) * 60


def test_gavel_in_three_writings() -> None:
    table = sample("gavel", "gavel.csv")
    assert first(table, 3) == {
        "job": 4, "submitted": 182117.0, "gpus": 8, "network": "ResNet-18", "batch_size": 32, "iterations": 775977.0,
        "job_type": "ResNet-18 (batch size 32)",
    }  # fmt: skip
    seven = sample("gavel", "gavel_7.trace")
    assert first(seven, 3) == {
        "job": 4, "submitted": 1152314.0, "gpus": 4, "network": "A3C", "iterations": 161318.0, "job_type": "A3C",
    }  # fmt: skip
    ten = sample("gavel", "gavel_10.trace")
    assert first(ten, 1) == {
        "job": 2, "submitted": 0.0, "gpus": 2, "weight": 1.0, "network": "Transformer", "batch_size": 16,
        "iterations": 11005.0, "job_type": "Transformer (batch size 16)",
    }  # fmt: skip
    assert ten.frame["slo"].null_count() == 4


def test_shockwave() -> None:
    table = sample("shockwave", "shockwave.csv")
    assert first(table, 1) == {
        "job": 2, "submitted": 55.0, "gpus": 1, "duration": 3338.0, "weight": 1.0, "network": "ResNet-18",
        "batch_size": 32, "iterations": 143450.0, "job_type": "ResNet-18 (batch size 32)", "mode": "accordion",
    }  # fmt: skip


def test_shockwave_lines() -> None:
    line = "LM (batch size 10)\tpython3 main.py\tlanguage\t--steps\t1\t134583\t1\tgns\t2.0\t1.5\t1418\t7\n"
    table = read_text("shockwave", line + line.replace("\t7\n", "\t3\n"))
    assert table.frame["submitted"].to_list() == [0.0, 4.0]
    assert first(table) == {
        "job": 2, "submitted": 0.0, "gpus": 1, "duration": 1418.0, "weight": 2.0, "network": "LM", "batch_size": 10,
        "iterations": 134583.0, "job_type": "LM (batch size 10)", "slo": 1.5, "mode": "gns",
    }  # fmt: skip


def test_sia() -> None:
    table = sample("sia", "sia.csv")
    assert table.frame["job"].to_list() == ["deepspeech2-0", "cifar10-1", "bert-2", "deepspeech2-3"]
    assert table.frame["submitted"].to_list() == pytest.approx([0, 183.000019, 324.000054, 615.000094])
    placed = sample("sia_placements", "sia_placements.csv")
    assert placed.frame.select("layout", "nodes", "gpus").rows()[2:] == [("44", 2, 8), ("1111", 4, 4)]
    assert first(sample("sia_scalability", "sia_scalability.csv")) == {
        "network": "bert", "cluster": "aws", "nodes": 6, "gpus": 6, "batch_size": 4, "step_time": 1.49233,
        "sync_time": 1.09282,
    }  # fmt: skip


def test_tiresias() -> None:
    assert first(sample("tiresias", "tiresias.csv"), 1) == {
        "job": 1, "submitted": 30.0, "gpus": 8, "duration": 147.0, "network": "vgg11", "iterations": 133.0,
    }  # fmt: skip
    nodes = sample("tiresias_nodes", "tiresias_nodes.csv")
    assert nodes.frame.rows()[0] == (1, 1, 4, 40, 256)
    assert nodes.frame["node"].to_list() == list(range(1, 33))


def test_nodes_hang_on_switches_in_turn() -> None:
    text = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,3,8,64,256\n"
    assert read_text("tiresias_nodes", text).frame["switch"].to_list() == [1, 1, 1, 2, 2, 2]


def test_throughputs() -> None:
    table = sample("elasticflow_throughputs", "elasticflow_throughputs.csv")
    assert table.frame["speed"].to_list()[:2] == [6.030661553957379, 8.643477263279834]
    assert reasons(table.filtered) == {"a speed of 0 (the job does not fit)": (1, 6)}
    assert sample("elasticflow_throughputs", "elasticflow_throughputs.csv", unfit=True).frame["speed"][4] == 0.0


def test_gavel_throughputs_in_both_writings() -> None:
    table = sample("gavel_throughputs", "gavel_throughputs.csv", unfit=True)
    assert first(table, 3) == {
        "gpu_type": "k80", "job_type": "ResNet-50 (batch size 128)", "network": "ResNet-50", "batch_size": 128,
        "gpus": 2, "speed": 0.0,
    }  # fmt: skip
    other = sample("gavel_throughputs", "gavel_throughputs.json", unfit=True)
    assert [r for r in other.frame.rows() if r[2] != "A3C"] == table.frame.rows()
    assert first(other, 3) == {
        "gpu_type": "k80", "job_type": "A3C", "network": "A3C", "gpus": 1, "speed": 3.4387678290723933,
    }  # fmt: skip
    assert sample("gavel_throughputs", "gavel_throughputs.json").frame.height == 4


def test_gavel_sharing_in_both_writings() -> None:
    table = sample("gavel_colocated", "gavel_colocated.csv")
    assert reasons(table.filtered) == {"a speed of 0 (the job does not fit)": (2, 8)}
    other = sample("gavel_colocated", "gavel_throughputs.json")
    assert other.frame.height == 16
    assert table.frame.rows()[:3] == other.frame.rows()[:3]
    assert table.frame.select("speed", "other_speed").row(0) == (2.539979567443098, 3.1201925448827033)


def test_gpuspb() -> None:
    assert first(sample("gpuspb_jobs", "gpuspb_jobs.csv"), 1) == {
        "job": "JJ2", "submitted": 1790.736, "deadline": 40991.75, "weight": 0.013029, "application": "App",
        "shortest": 37097.758, "longest": 89705.17,
    }  # fmt: skip
    assert first(sample("gpuspb_times", "gpuspb_times.csv"), 2) == {
        "job": "JJ1", "vm_type": "NC12", "gpus": 2, "duration": 6639.594, "gpu_type": "K80", "vm_gpus": 2,
        "price": 1.13,
    }  # fmt: skip
    assert sample("gpuspb_nodes", "gpuspb_nodes.csv").frame["node"].to_list() == ["n1", "n2", "n3"]


def test_standard_workload_format() -> None:
    table = sample("swf", "swf.swf")
    assert table.rows == 8
    assert reasons(table.dropped) == {
        "a line without 18 cells": (1, 13),
        "no duration": (1, 10),
        "duration is not a number": (1, 14),
        "no processors": (1, 11),
        "an earlier row has the same job": (1, 12),
    }
    assert table.frame["job"].to_list() == [1, 3, 2]
    assert first(table) == {
        "job": 1, "submitted": 0.0, "gpus": 4, "duration": 3600.0, "status": "completed", "vc": "1", "user": "1",
        "memory": 4096.0, "wait": 5.0, "requested": 7200.0, "queue": "1", "group": "1",
    }  # fmt: skip
    assert table.frame["gpus"].to_list() == [4, 8, 2]
    assert table.frame["status"].to_list() == ["completed", "cancelled", "failed"]
    assert "Computer: Small GPU cluster" in table.facts


# --- what holds for all -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped(False))
def test_descriptions_are_sound(name: str) -> None:
    found = reader(name)
    _described(found, name)
    named = [*(c.name for c in found.columns), *(o.name for o in found.options)]
    assert [each for each in named if not _is_name(each)] == []


@pytest.mark.parametrize("name", shipped(True))
def test_descriptions_of_generators_are_sound(name: str) -> None:
    _described(generator(name), name)


def _is_name(text: str) -> bool:
    """Whether it can be written without quotes in a data statement."""
    found = Diagnostics()
    parse(Source("text", f'scenario S for M {{ data "f" as f ({text} = 1) {{ A = {text}; }} }}'), found)
    return not list(found)


def _described(found: object, name: str) -> None:
    assert isinstance(found, Format)
    assert found.name == name
    assert found.doc
    for names in ([c.name for c in found.columns], [o.name for o in found.options]):
        assert len(names) == len(set(names))
        assert all(each.isidentifier() for each in names)
    for column in found.columns:
        assert column.meaning
        parse_unit_text(column.unit)
    for option in found.options:
        assert option.meaning
        parse_unit_text(option.unit)
        assert option.default is None or not option.choices or option.default in option.choices


def test_line_ends_and_byte_order_marks_make_no_difference() -> None:
    data = (SAMPLES / "philly.csv").read_bytes()
    plain = read_text("philly", data).frame
    assert read_text("philly", b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")).frame.equals(plain)
