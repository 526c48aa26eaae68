"""The metrics of the campaign of CE-DLA equal the formulas of the paper, computed from the plan and the data."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import gpusched_dsl as gs
from benchmarks.reproduction.papers import MODELS

FILE = MODELS / "price_aware" / "campaigns" / "kang_2022.gsm"
OPTIONS = (
    "(jobs = 6, slots = 40, nodes = 1, median_epochs = 9, least_epochs = 4, most_epochs = 20, rate = 3200[request/min],"
    " seed = SEED)"
)
SLOTS, HORIZON = 40, 40
METHODS = {"ByNode": "FIFORejecting", "Soft": "highs"}


def reduced(folder: Path, seed: int) -> Path:
    """Write the campaign's file with a small instance: as many jobs and requests as the nodes can hardly serve."""
    text = FILE.read_text(encoding="utf-8").replace('"../', f'"{FILE.parent.parent.as_posix()}/')
    options = OPTIONS.replace("SEED", str(seed))
    for name in ("types", "nodes", "jobs", "training", "services", "serving", "load"):
        text = text.replace(f"generate price_aware_{name} {{", f"generate price_aware_{name} {options} {{")
    text = text.replace(
        "generate price_aware_prices (", f"generate price_aware_prices (slots = {SLOTS}, seed = {seed}, "
    )
    file = folder / "reduced.gsm"
    file.write_text(text[: text.index("# `each` nodes")], encoding="utf-8")
    return file


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("scenario", METHODS)
def test_metrics_are_those_of_the_paper(scenario: str, seed: int, tmp_path: Path) -> None:
    """(1), (2) and (4) of section 3.1.4, job by job and node by node; Table 2 from the slots of the plan."""
    with gs.load(reduced(tmp_path, seed), allow_outside=True) as model:
        result = model.solve(scenario, method=METHODS[scenario], gap=0.02)

    def table(name: str, columns: list[str]) -> pl.DataFrame:
        found = result.table(name)
        return found.rename(dict(zip(found.columns, [*columns, name], strict=True)))

    due = dict(result.table("due").rows())
    train = table("train", ["job", "place", "slot"]).filter(pl.col("train") > 0.5)
    late = {job: HORIZON - slot for job, slot in due.items()}  # of a job that ends after the horizon
    late |= {job: max(0, slot - due[job]) for job, slot in train.group_by("job").agg(pl.col("slot").max()).rows()}
    deadline = 100 * sum(late.values()) / len(late) / HORIZON
    assert deadline > 0 or scenario == "Soft"
    assert result.value("deadline_violation") == pytest.approx(deadline)

    # A node of service rate m keeps the bound Q up to the rate b = m - m / (Q m - 1).
    load = result.table("load")["value"].sum()
    rates = table("rate", ["service", "type"])
    bounds = result.table("latency_bound").rename({"value": "bound"})
    bounds = bounds.rename({bounds.columns[0]: "service"})
    types = dict(result.table("node_type").rows())
    share = table("share", ["service", "place", "slot"]).join(
        table("serve", ["service", "place", "slot"]), on=["service", "place", "slot"]
    )
    share = share.filter(pl.col("share") > 1e-9).with_columns(
        type=pl.col("place").replace(types), rate_of_node=pl.col("share") / pl.col("serve").round()
    )
    share = share.join(rates, on=["service", "type"]).join(bounds, on="service")
    kept = pl.col("rate") - pl.col("rate") / (pl.col("bound") / 60 * pl.col("rate") - 1)
    excess = (pl.col("rate_of_node") - kept).clip(lower_bound=0)
    beyond = share.select((pl.col("share") * excess / pl.col("rate_of_node")).sum()).item()
    assert beyond > 0
    assert result.value("latency_violation") == pytest.approx(100 * beyond / load, rel=1e-4)

    tariff = dict(result.table("tariff").rows())
    prices = [tariff[slot] for slot in train["slot"]]
    for name, low, high in (("at_low_prices", 0, 20), ("at_middle_prices", 20, 30), ("at_high_prices", 30, 51)):
        assert result.value(name) == pytest.approx(sum(low <= price < high for price in prices) / len(prices))
    paid = result.value("energy_paid")
    assert result.value("jobs_per_dollar") == pytest.approx(len(due) * (1 - deadline / 100) / paid)
