"""The data files of the models equal the output of their scripts, and agree with their READMEs."""

import csv
import json
from pathlib import Path

import pytest

from benchmarks.data_scripts import MODELS, script

DATA = MODELS / "capacity_planning" / "data"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_synthetic_instances_are_what_the_script_makes(tmp_path: Path) -> None:
    script(DATA / "synthetic/generate_instances.py").main(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in (DATA / "synthetic").glob("*.csv"))
    assert len(made) == 38
    for name in made:
        assert (tmp_path / name).read_bytes() == (DATA / "synthetic" / name).read_bytes()


def test_generator_gives_its_check_values() -> None:
    generator = script(DATA / "synthetic/generate_instances.py")
    jobs = generator.generate(1, 2, 20, 30, generator.read_catalogue("full9"))
    assert [(job.application, job.framework) for job in jobs[:4]] == [
        ("DeepSpeech", "TensorFlow"),
        ("ResNet50", "TensorFlow"),
        ("AlexNet", "TensorFlow"),
        ("ResNet50", "PyTorch"),
    ]
    assert [job.arrival for job in jobs[:4]] == pytest.approx([0, 0.040645, 0.042700, 0.048749], abs=1e-6)
    assert [job.deadline for job in jobs[:4]] == pytest.approx([19.595112, 1.385482, 9.647458, 7.499252], abs=1e-6)
    assert [job.weight for job in jobs[:4]] == pytest.approx([0.485979, 0.581962, 1.019519, 0.700240], abs=1e-6)
    assert [job.times["NC6", 1] for job in jobs[:4]] == pytest.approx(
        [6.356429, 16.983345, 5.030375, 3.397574], abs=1e-6
    )
    assert jobs[0].times["In-house server 2", 8] == pytest.approx(0.498124, abs=1e-6)
    assert sum(job.weight for job in jobs) == pytest.approx(13.628554, abs=1e-6)
    assert jobs[-1].arrival == pytest.approx(0.194401, abs=1e-6)


def test_patterns_are_all_partitions_of_one_to_eight(tmp_path: Path) -> None:
    script(DATA / "patterns/generate_patterns.py").main(tmp_path)
    for name in ("patterns.csv", "parts.csv"):
        assert (tmp_path / name).read_bytes() == (DATA / "patterns" / name).read_bytes()
    sizes = [int(row["size"]) for row in rows(DATA / "patterns" / "patterns.csv")]
    assert [sizes.count(size) for size in range(1, 9)] == [1, 2, 3, 5, 7, 11, 15, 22]


def test_azure_catalogue_is_the_first_six_types_of_the_full_one() -> None:
    assert rows(DATA / "catalogue" / "azure6.csv") == rows(DATA / "catalogue" / "full9.csv")[:6]


def test_gavel_files_agree_with_each_other_and_with_their_rules() -> None:
    types = {row["vm_type"]: row for row in rows(DATA / "gavel" / "vm_types.csv")}
    jobs = {row["job"]: row for row in rows(DATA / "gavel" / "jobs.csv")}
    assert len(jobs) == 40
    hours: dict[str, list[float]] = {job: [] for job in jobs}
    by_model: dict[tuple[str, str, str], set[str]] = {}
    for row in rows(DATA / "gavel" / "times.csv"):
        vm = types[row["vm_type"]]
        assert 1 <= int(row["gpus"]) <= int(vm["gpus"])
        hours[row["job"]].append(float(row["hours"]))
        by_model.setdefault((row["job"], vm["gpu_model"], row["gpus"]), set()).add(row["hours"])
    assert all(len(same) == 1 for same in by_model.values())
    for job, row in jobs.items():
        fastest, slowest = min(hours[job]), max(hours[job])
        assert 0.5 <= fastest <= slowest <= 240
        assert fastest <= float(row["deadline_h"]) <= 2 * slowest
        assert 0.36 <= float(row["weight_usd_per_h"]) <= 1.08


def test_gavel_script_reads_the_public_formats(tmp_path: Path) -> None:
    rates = {
        "('LM (batch size 5)', 1)": {"null": 10.0},
        "('LM (batch size 5)', 2)": {"null": 16.0},
        "('A3C', 1)": {"null": 2.0},
        "('LM (batch size 5)', 4)": {"null": 0.0, "('A3C', 1)": [1.0, 1.0]},
    }
    (tmp_path / "rates.json").write_text(json.dumps({"k80": rates, "p100": {}, "v100": {}, "k80_unconsolidated": {}}))
    lines = [
        "LM (batch size 5)\tpython train.py\t-n\t1\t72000\t60.000000\t4",
        "A3C\tpython train.py\t-n\t1\t7200\t90.000000\t1",
        "A3C\tpython train.py\t-n\t1\t72\t95.000000\t1",
    ]
    (tmp_path / "e.trace").write_text("\n".join(lines) + "\n")
    (tmp_path / "prices.csv").write_text(
        "Cloud,GPU Type,GPUs,On-demand,Name\n"
        "AWS,K80 (12 GB),1,0.9,p2.xlarge\nAzure,K80 (12 GB),4,3.6,NC24\nAzure,K80 (12 GB),1,0.9,NC6\n"
        "Azure,T4 (16 GB),1,0.5,NC4as\n"
    )
    out = tmp_path / "out"
    out.mkdir()
    converter = script(DATA / "gavel/convert_gavel.py")
    converter.main(tmp_path / "rates.json", tmp_path / "e.trace", tmp_path / "prices.csv", out)
    assert (out / "vm_types.csv").read_text().splitlines()[1:] == ["NC6,k80,1,0.9", "NC24,k80,4,3.6"]
    assert [row["job"] for row in rows(out / "jobs.csv")] == ["LM-1", "A3C-2"]  # the third takes 36 s: too short
    assert [(row["job"], row["vm_type"], row["gpus"], row["hours"]) for row in rows(out / "times.csv")] == [
        ("LM-1", "NC6", "1", "2"),
        ("LM-1", "NC24", "1", "2"),
        ("LM-1", "NC24", "2", "1.25"),
        ("A3C-2", "NC6", "1", "1"),
        ("A3C-2", "NC24", "1", "1"),
    ]


@pytest.mark.parametrize(
    ("folder", "public", "made"),
    [
        ("helios", "job_id,user,vc,submit_time_s,num_gpus,num_nodes,duration_s,final_status\n"
         "1,u,v,1382400.0,8,1,3600.0,COMPLETED\n2,u,v,1382460.0,4,1,0.0,CANCELED\n3,u,v,0.0,4,1,60.0,COMPLETED\n",
         {"helios_sample.csv": "job,submitted_s,gpus,seconds,due_s,weight_usd_per_h\n1,0,8,3600,DUE,48.96\n"}),
        ("openb", "name,num_gpu,gpu_milli,gpu_spec,pod_phase,creation_time,deletion_time\n"
         "p1,1,460,T4|A10,Running,10627260,10630860\np2,8,1000,,Running,10627260,10630860\n"
         "p3,1,1000,V100M32,Running,10627260,10630860\np4,1,1000,,Pending,10627260,10630860\n",
         {"openb_pods.csv": "pod,submitted_s,gpus,seconds,due_s,weight_usd_per_h\n"
          "p1,60,0.5,3600,DUE,0.53\np2,60,8,3600,DUE,16\n",
          "openb_allowed.csv": "pod,gpu_model\np1,T4\np2,G2\n"}),
    ],
)  # fmt: skip
def test_scripts_of_traces_read_the_public_formats(
    folder: str, public: str, made: dict[str, str], tmp_path: Path
) -> None:
    source = tmp_path / "public.csv"
    source.write_text(public, encoding="utf-8")
    script(MODELS / f"trace_replay/data/{folder}/cut_{folder}.py").main(source, tmp_path)
    for name, expected in made.items():
        found, wanted = (tmp_path / name).read_text(encoding="utf-8").splitlines(), expected.splitlines()
        assert len(found) == len(wanted)
        for row, cells in zip(found, wanted, strict=True):
            assert all(b in (a, "DUE") for a, b in zip(row.split(","), cells.split(","), strict=True))


@pytest.mark.parametrize(("folder", "file"), [("helios", "helios_sample.csv"), ("openb", "openb_pods.csv")])
def test_due_dates_follow_their_rule(folder: str, file: str) -> None:
    for row in rows(MODELS / "trace_replay/data" / folder / file):
        allowed = float(row["due_s"]) - float(row["submitted_s"]) - 600
        assert 1.2 * float(row["seconds"]) - 2 <= allowed <= 3 * (float(row["seconds"]) + 1) + 2
        assert float(row["weight_usd_per_h"]) > 0
