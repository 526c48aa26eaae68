"""Catalogues of GPU machines: ranges, empty cells, repeated offers and names."""

from __future__ import annotations

import polars as pl
import pytest
from price_files import SAMPLES, SHARED, fault

from gpusched_dsl.data.formats.registry import reader
from gpusched_dsl.data.formats.shape import FormatTable, Raw, Setting

OFFERS = SAMPLES / "cloud_offers.csv"


def offers(file: str = "cloud_offers.csv", data: bytes | None = None, **options: Setting) -> FormatTable:
    known = reader("cloud_prices")
    settings = {option.name: option.default for option in known.options if option.default is not None}
    return known.read(Raw(file, OFFERS.read_bytes() if data is None else data), settings | options)


def test_every_offer() -> None:
    table = offers()
    frame = table.frame
    assert frame.height == 38
    assert frame["type"].is_unique().all()
    assert [(each.reason, each.rows, each.first) for each in table.dropped] == [("repeated offer", 2, 3)]
    assert set(frame.columns) == {column.name for column in reader("cloud_prices").columns}


def test_ranges_are_taken_at_their_least() -> None:
    table = offers(cloud="dataoorts")
    assert table.frame.select("type", "cpus", "ram").rows() == [("gc2.t4-16-1", 4, 12), ("gc2.h100-80-8", 188, 1200)]
    assert table.notes == ("4 ranges such as `80-100` are read as their smallest value",)
    assert table.frame["gpu_memory"].to_list() == [16, 80]


def test_names_of_machines_with_several_models_of_gpu() -> None:
    names = offers(cloud="GCP").frame["type"].to_list()
    assert names[:2] == ["n1-highmem-16 2x V100 (16 GB)", "n1-highmem-16 2x P100 (16 GB)"]
    cudo = offers(cloud="Cudo Compute", gpu="A4000").frame["type"].to_list()
    assert cudo[:2] == ["Cudo Compute 1x A4000 (16 GB)", "Cudo Compute 1x A4000 (16 GB) (2)"]
    assert set(names) <= set(offers().frame["type"]), "names do not depend on what is asked for"


def test_spot_prices() -> None:
    table = offers(gpu="K80", offer="spot")
    assert table.frame.select("type", "price", "price_per_gpu").rows() == [
        ("NC12", 0.18, 0.09),
        ("NC24", 0.36, 0.09),
        ("n1-highmem-16 2x K80 (12 GB)", 0.28, 0.14),
    ]
    assert [each.reason for each in offers(cloud="NovoNimbus", offer="spot").dropped][-1] == "no spot price"


def test_what_is_not_there() -> None:
    found = fault("cloud_prices", OFFERS, gpu="K8O")
    assert found.code == "GSM2032"
    assert fault("cloud_prices", OFFERS, cloud="Azur").help == "did you mean `Azure`?"
    wrong = OFFERS.read_text().replace(",4-6,", ",some,")
    found = fault("cloud_prices", wrong)
    assert (found.code, found.cell and found.cell.row) == ("GSM2104", 31)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the whole catalogue is not here")
def test_whole_catalogues() -> None:
    data = (SHARED / "cloud_prices" / "cloud_gpus.csv").read_bytes()
    table = offers("cloud_gpus.csv", data)
    assert (table.rows, table.frame.height) == (257, 249)
    assert sum(each.rows for each in table.dropped) == 8
    azure = table.frame.filter(pl.col("name").is_in(["NC6", "NC12", "NC24"]))
    assert azure["price"].to_list() == [0.9, 1.8, 3.6]
    serverless = offers("serverless_gpus.csv", (SHARED / "cloud_prices" / "serverless_gpus.csv").read_bytes())
    assert serverless.frame.filter(pl.col("cloud") == "Mystic AI")["price"].to_list()[-1] == 0.75
