"""linopy, vectorised over xarray coordinates, loaded through its direct HiGHS path (`Model.to_highspy`)."""

from pathlib import Path
from typing import Any

import linopy
import pandas as pd
import xarray as xr

from benchmarks.child import Lap


def run(folder: Path, lap: Lap, mode: str = "dense") -> Any:
    """`mode` is `dense` (the default of linopy) or `sparse` (its CSR path, v1 semantics)."""
    nodes = pd.Index(pd.read_csv(folder / "nodes.csv")["node"], name="node")
    types = pd.read_csv(folder / "types.csv").rename(columns={"vm_type": "type"}).set_index("type")
    jobs = pd.read_csv(folder / "instance_jobs.csv").set_index("job")
    times = pd.read_csv(folder / "instance_times.csv")
    configs = pd.DataFrame([(v, g) for v in types.index for g in range(1, types.gpus[v] + 1)], columns=["type", "size"])
    config = pd.Index(configs.type + ":" + configs["size"].astype(str), name="config")
    hours = (
        times.assign(config=times.vm_type + ":" + times.gpus.astype(str))
        .pivot(index="job", columns="config", values="hours")
        .loc[jobs.index, config]
    )
    lap("data")

    t = xr.DataArray(hours.to_numpy(), coords=[jobs.index, config])
    type_of = xr.DataArray(configs.type.to_numpy(), coords=[config], name="type")
    size = xr.DataArray(configs["size"].to_numpy(), coords=[config])
    gpus, price = types.gpus.to_xarray(), types.price_usd_per_h.to_xarray()
    gpus_of, price_of = gpus.sel(type=type_of).drop_vars("type"), price.sel(type=type_of).drop_vars("type")
    deadline, weight = jobs.deadline_h.to_xarray(), jobs.weight_usd_per_h.to_xarray()
    idle, period = 1.0, 1.0

    if mode == "sparse":
        linopy.options["semantics"] = "v1"
        m = linopy.Model(sparse=True)
    else:
        m = linopy.Model()
    node_open = m.add_variables(coords=[nodes], name="open", binary=True)
    hosts = m.add_variables(coords=[nodes, types.index], name="hosts", binary=True)
    runs = m.add_variables(coords=[jobs.index], name="runs", binary=True)
    run = m.add_variables(coords=[jobs.index, nodes, config], name="run", binary=True)
    tardy = m.add_variables(lower=0, coords=[jobs.index], name="tardiness")
    late = m.add_variables(lower=0, coords=[jobs.index], name="postponed_tardiness")

    m.add_objective(
        (weight * tardy).sum()
        + (100 * weight * late).sum()
        + (idle * gpus * hosts).sum()
        + ((size / gpus_of * price_of * t - idle * size) * run).sum()
    )
    hosted = (1 * hosts).sel(type=type_of).drop_vars("type")
    m.add_constraints(hosts.sum("type") - node_open == 0, name="one_type")
    m.add_constraints(run - hosted <= 0, name="on_hosted_type")
    m.add_constraints(run - runs <= 0, name="only_if_run")
    m.add_constraints(run.sum("config") - node_open <= 0, name="only_on_open")
    m.add_constraints(run.sum(["node", "config"]) - runs == 0, name="one_place")
    used = (size * run).sum("job").groupby(type_of).sum()
    m.add_constraints(used <= gpus.sel(type=used.indexes["type"]), name="capacity")
    m.add_constraints((t * run).sum(["node", "config"]) - tardy <= deadline, name="due")
    slowest = period + t.max("config")
    m.add_constraints(-slowest * runs - late <= deadline - slowest, name="due_if_postponed")
    m.add_constraints(node_open.sum() == min(len(nodes), len(jobs)), name="use_all_nodes")
    lap("build")

    highs = m.to_highspy()
    lap("load")
    return highs
