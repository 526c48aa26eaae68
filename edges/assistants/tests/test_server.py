"""The client of the protocol's own package talks to `gsdsl mcp` over standard input and output."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.pages import page_titles

MODEL = """\
model Small "Lateness of jobs" {
  set Jobs;
  param hours[Jobs] in h >= 0;
  param most in h default 1[h];
  var late[Jobs] in h >= 0 integer;
  minimize total in h: sum[j in Jobs] late[j];
  constraint enough[j in Jobs]: late[j] >= hours[j] - most;
}
scenario S for Small { Jobs = { a, b }; hours[a] = 2[h]; hours[b] = 3.5[h]; }
"""
FROM_FILE = MODEL[: MODEL.index("scenario")] + (
    'scenario S for Small { data "data/jobs.csv" { Jobs = name; hours[name] = hours[h]; } }\n'
)
CSV = "name,hours\na,2\nb,3.5\n"
IMPOSSIBLE = MODEL.replace("  constraint", "  constraint never: sum[j in Jobs] late[j] <= -1[h];\n  constraint")
pytestmark = pytest.mark.slow


def with_client(folder: Path, talk: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Start the server in a folder, and talk to it."""
    arguments = ["-m", "gpusched_dsl", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env=dict(os.environ))

    async def run() -> None:
        async with Client(server, read_timeout_seconds=200) as client:
            await talk(client)

    asyncio.run(run())


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


def test_a_model_from_the_first_draft_to_its_solution(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        draft = MODEL.replace("late[j] >=", "lat[j] >=").replace("minimize total", "minimise total")
        found = await answer(client, "check", text=draft)
        assert not found["ok"]
        assert found["fixed_text"] == draft.replace("minimise", "minimize")
        assert "^" in found["report"]
        mended = await answer(client, "repair", text=draft)
        assert mended["ok"]
        assert mended["texts"] == {"model.gsm": MODEL}
        assert (await answer(client, "check", text=MODEL, deep=True))["ok"]
        written = await answer(client, "format", text=MODEL)
        assert written["text"] == format_text(MODEL)
        solved = await answer(client, "solve", text=MODEL)
        assert solved["result"]["status"] == "optimal"
        assert solved["result"]["objective"] == pytest.approx(1 + 3)
        assert solved["result"]["statistics"]["second_opinions"] == 1
        solved = await answer(client, "solve", text=MODEL, settings={"most": "2[h]"}, method="scip")
        assert solved["result"]["objective"] == pytest.approx(2)
        why = await answer(client, "explain", text=IMPOSSIBLE)
        assert why["explanation"]["status"] == "infeasible"
        assert "never" in why["report"]
        refused = await answer(client, "solve", text=MODEL, scenario="T")
        assert [d["code"] for d in refused["diagnostics"]] == ["GSM6007"]

    with_client(tmp_path, talk)


def test_files_of_a_call_and_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "models" / "data").mkdir(parents=True)
    (tmp_path / "models" / "small.gsm").write_text(FROM_FILE, encoding="utf-8")
    (tmp_path / "models" / "data" / "jobs.csv").write_text(CSV.replace("3.5", "5"), encoding="utf-8")
    (tmp_path / "secret.gsm").write_text(MODEL, encoding="utf-8")
    (tmp_path / "models" / "numpy.py").write_text("raise SystemExit('imported from the folder of models')")

    async def talk(client: Client) -> None:
        given = await answer(client, "solve", text=FROM_FILE, files={"data/jobs.csv": CSV})
        assert given["result"]["objective"] == pytest.approx(4)
        there = await answer(client, "solve", file="small.gsm")
        assert there["result"]["objective"] == pytest.approx(5)
        assert "outside the folder" in await refusal(client, "check", file="../secret.gsm")
        assert "outside the folder" in await refusal(client, "check", file=str(tmp_path / "secret.gsm"))
        assert "no file" in await refusal(client, "check", file="smal.gsm")
        for name in ("../x.csv", "/tmp/x.csv", "a/../../x.csv", "model.gsm", "c:x.csv", "a\\b.csv", ""):
            assert await refusal(client, "check", text=MODEL, files={name: CSV})
        assert "not both" in await refusal(client, "check", text=MODEL, file="small.gsm")
        assert "`text`" in await refusal(client, "check")
        assert "characters" in await refusal(client, "check", text="#" * 500_000)
        outside = await answer(client, "check", text='import "../secret.gsm";')
        assert not outside["ok"]

    with_client(tmp_path, talk, str(tmp_path / "models"))


def test_what_can_be_read(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"check", "repair", "format", "solve", "explain", "list_policies", "describe_policy"} <= tools.keys()
        assert all(tool.description and tool.annotations.read_only_hint for tool in tools.values())
        assert (await answer(client, "list_documentation")).keys() >= page_titles().keys()
        page = await answer(client, "read_documentation", page="language")
        assert page["text"].startswith("# ")
        more = await answer(client, "read_documentation", page="language", start=page["next"])
        assert more["text"]
        part = await answer(client, "read_documentation", page="assistants", section="Limits")
        assert part["text"].startswith("## Limits")
        assert "language" in await refusal(client, "read_documentation", page="langauge")
        assert "GSM3002" in str(await answer(client, "read_error", code="gsm3002"))
        assert "no code" in await refusal(client, "read_error", code="GSM0000")
        models = await answer(client, "list_models")
        assert "gsdsl:capacity_planning/model.gsm" in models
        assert "model " in str(await answer(client, "read_model", name="gsdsl:capacity_planning/model.gsm"))
        policies = await answer(client, "list_policies")
        assert "FIFO" in {p["name"] for p in policies["policies"]}
        described = await answer(client, "describe_policy", policy="FIFO", model="CapacityPlanning")
        assert described["words"]
        resource = await client.read_resource("gsdsl://docs/errors")
        assert "GSM1001" in resource.contents[0].text

    with_client(tmp_path, talk)


HARD = """\
model Hard {
  set I = 1..60;
  param size[i in I] = 1000 + (i * 7919) mod 997;
  var side[I] binary;
  var over >= 0;
  minimize gap: over;
  constraint above: over >= sum[i in I] size[i] * (2 * side[i] - 1) + 0.5;
  constraint below: over >= sum[i in I] size[i] * (1 - 2 * side[i]) + 0.5;
}
"""
LARGE = "model Large { set I = 1..600; var x[I, I] binary; minimize n: sum[i in I, j in I] x[i, j]; }"


def test_limits_of_time_and_size(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        start = time.monotonic()
        found = await answer(client, "solve", text=HARD, seconds=2)
        assert found["result"]["status"] in ("limit", "optimal"), found["result"]
        assert time.monotonic() - start < 60
        assert "360,000 columns" in await refusal(client, "solve", text=LARGE)
        assert "360,000 columns" in await refusal(client, "explain", text=LARGE)

    with_client(tmp_path, talk)


def test_a_call_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that ignores its limit is killed; the next call is answered."""
    from gsdsl_assistants import calls
    from gsdsl_assistants.limits import CallLimits, CallRefused

    monkeypatch.setattr(calls, "GRACE", 0.0)

    async def run() -> None:
        runner = calls.Calls(tmp_path, CallLimits(seconds=0.05))
        with pytest.raises(CallRefused, match="was stopped"):
            await runner.run("check", calls.ModelText(MODEL))
        runner.limits = CallLimits()
        assert (await runner.run("check", calls.ModelText(MODEL)))["ok"]

    asyncio.run(run())


def test_without_the_package(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from gpusched_dsl.cli import main; sys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install '.[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_server_ends_with_its_client(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "gpusched_dsl", "mcp"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    server.communicate(b"", timeout=120)
    assert server.returncode == 0
