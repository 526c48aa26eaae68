"""Sessions of a block with a window: the decision of the slot in effect, questions about jobs, and a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from live_windows import CHEAP, runs
from served_runs import running

from gpusched_dsl.online.run_config import RunConfig

CONFIG = RunConfig(online="Ahead", method="highs", gap=0.0)
Json = dict[str, Any]


def event(kind: str, time: float, **more: Any) -> Json:
    return {"version": 1, "id": f"{kind} {time} {more.get('job')}", "kind": kind, "time": time, **more}


def test_a_session_plans_slot_by_slot(tmp_path: Path) -> None:
    """A job of two hours runs in slots 1 and 3: prices are 3, 1, 4 and 1 $."""
    records, path = tmp_path / "records", "/v1/sessions/prod"
    with running(tmp_path, records=records, config=CONFIG, model=CHEAP) as (client, _):
        made = client("POST", "/v1/sessions", {"name": "prod", "start": "2026-03-01T00:00Z"})[1]
        assert (made["state"], made["online"], made["unit"]) == ("open", "Ahead", "h")
        client.events("prod", event("arrival", 0, job="a", values={"hours": 2}))
        decision = client("GET", f"{path}/decision")[1]
        assert (decision["slot"]["slot"], runs(decision), [one["slot"] for one in decision["later"]]) == (
            0,
            set(),
            [1, 2, 3],
        )
        estimate = client("GET", f"{path}/jobs/a/estimate")[1]
        assert (estimate["start"]["values"], estimate["end"]["values"], estimate["cost"]["values"]) == (
            [1.0],
            [4.0],
            [2.0],
        )
        why = client("GET", f"{path}/jobs/a/why")[1]
        assert (why["runs"], why["reason"]["slots"]["planned"]) == (False, [1.0, 3.0])
        told = client.events("prod", event("tick", 1.0))
        assert [record["kind"] for record in told] == ["ack", "decision"]
        assert (told[1]["why"], told[1]["slot"]["date"], runs(told[1])) == (
            ["slot"],
            "2026-03-01T01:00:00+00:00",
            {"a"},
        )
        why = client("GET", f"{path}/jobs/a/why")[1]
        assert (why["runs"], why["method"], why["reason"]["kind"]) == (True, "highs", "runs")
        assert client("GET", path)[1]["decision"] == 1
        before = client("GET", f"{path}/decision")[1]
        assert (before["slot"]["slot"], runs(before), [one["slot"] for one in before["later"]]) == (1, {"a"}, [2, 3])
        text = client.raw("GET", "/metrics")[1].decode()
        assert 'gsdsl_plan_seconds_count{session="prod"} 1.0' in text, "a slot that begins as planned is no plan"
    with running(tmp_path, records=records, config=CONFIG, model=CHEAP) as (client, _):
        assert {**client("GET", f"{path}/decision")[1], "seconds": 0} == {**before, "seconds": 0}
        told = client.events("prod", event("tick", 1.0), event("tick", 2.0), event("tick", 3.5))
        assert [(r["kind"], r.get("step"), r.get("time")) for r in told if r["kind"] == "decision"] == [
            ("decision", 2, 2.0), ("decision", 2, 3.0)
        ]  # fmt: skip
        estimate = client("GET", f"{path}/jobs/a/estimate")[1]
        assert estimate["end"]["values"] == pytest.approx([4.0])
