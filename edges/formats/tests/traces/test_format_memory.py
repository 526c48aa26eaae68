"""Every format counts the memory that reading needs before it takes it."""

import zipfile
from pathlib import Path

import polars as pl
import pytest
from trace_help import SAMPLES

from gpusched_dsl.data.formats.registry import reader, shipped
from gpusched_dsl.data.sources.files import DataFile, FileLimits, Unreadable
from gpusched_dsl.data.sources.formatted import read_with_format
from gpusched_dsl.data.sources.json_lines import read_json_lines
from gpusched_dsl.language.scenarios.formats import Use

PRICES = SAMPLES.parents[1] / "prices" / "samples"
FILES = [
    ("acme", "acme.csv"), ("genai_requests", "genai_requests.csv"), ("philly_attempts", "philly_log.json"),
    ("spot_gpu", "spot_gpu.csv"), ("spot_gpu_nodes", "spot_gpu_nodes.csv"),
    ("chronus", "chronus.csv"), ("chronus_values", "chronus.csv"), ("cloud_prices", "cloud_offers.csv"),
    ("dayahead_countries", "six_countries_march_2022.csv"), ("elasticflow", "elasticflow.csv"),
    ("elasticflow_throughputs", "elasticflow_throughputs.csv"), ("entsoe", "fr_march_2025.csv"),
    ("epf", "fr_forecasts_october_2015.csv"), ("gavel", "gavel.csv"), ("gavel", "gavel_10.trace"),
    ("gavel_colocated", "gavel_colocated.csv"), ("gavel_colocated", "gavel_throughputs.json"),
    ("gavel_throughputs", "gavel_throughputs.csv"), ("gavel_throughputs", "gavel_throughputs.json"),
    ("gpuspb_jobs", "gpuspb_jobs.csv"), ("gpuspb_nodes", "gpuspb_nodes.csv"), ("gpuspb_times", "gpuspb_times.csv"),
    ("helios", "helios.csv"), ("jobs", "helios.csv"), ("kubernetes", "kubernetes.json"),
    ("nyiso", "nyiso_june_2018.csv"), ("openb_nodes", "openb_nodes.csv"), ("openb_pods", "openb_pods.csv"),
    ("pai", "pai.csv"), ("philly", "philly.csv"), ("philly", "philly_log.json"), ("prices", "nyiso_june_2018.csv"),
    ("sacct", "sacct.txt"), ("shockwave", "shockwave.csv"), ("sia", "sia.csv"),
    ("sia_placements", "sia_placements.csv"), ("sia_scalability", "sia_scalability.csv"), ("swf", "swf.swf"),
    ("table", "helios.csv"), ("tiresias", "tiresias.csv"), ("tiresias_nodes", "tiresias_nodes.csv"),
]  # fmt: skip
OPTIONS = {
    "dayahead_countries": {"zone": "france"},
    "prices": {"time": "hour_beginning_local", "price": "lbmp_usd_per_mwh"},
}


def refusal(name: str, file: Path, memory: int) -> str:
    """The code of the only fault of a file, read with so much memory."""
    settings = {o.name: o.default for o in reader(name).options if o.default is not None} | OPTIONS.get(name, {})
    with pytest.raises(Unreadable) as caught:
        read_with_format(
            Use(name, False, tuple(settings.items())), DataFile(file, file.name), FileLimits(memory=memory)
        )
    [fault] = caught.value.faults
    return fault.code


def test_all_formats_are_here() -> None:
    assert {name for name, _ in FILES} == set(shipped(False))


@pytest.mark.parametrize(("name", "file"), FILES)
def test_memory_is_counted(name: str, file: str) -> None:
    path = SAMPLES / file if (SAMPLES / file).exists() else PRICES / file
    assert refusal(name, path, path.stat().st_size) == "GSM2007"


def test_members_of_an_archive_count(tmp_path: Path) -> None:
    content = (PRICES / "nyiso_june_2018.csv").read_bytes()
    with zipfile.ZipFile(tmp_path / "days.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("day.csv", content)
    assert refusal("nyiso", tmp_path / "days.zip", len(content)) == "GSM2007"


def test_cells_of_parquet_count(tmp_path: Path) -> None:
    pl.DataFrame({"job": [1] * 100_000}).write_parquet(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 5_000
    assert refusal("table", tmp_path / "a.parquet", 100_000) == "GSM2007"


def test_json_lines_count() -> None:
    data = b'{"a":1}\n' * 1000
    with pytest.raises(Unreadable) as caught:
        read_json_lines(data, "a.jsonl", ["a"], FileLimits(memory=10 * len(data)))
    assert [fault.code for fault in caught.value.faults] == ["GSM2007"]
    assert read_json_lines(data, "a.jsonl", ["a"], FileLimits(memory=20 * len(data))).rows == 1000
