"""The commands of docs/serve.md run against a real service, and its tables are complete."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
pytest.importorskip("prometheus_client", reason="the extra `serve` is not installed")

from gpusched_dsl.cli import main
from gpusched_dsl.cli.arguments.commands import build_parser
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.live.metrics import Metrics
from gpusched_dsl.online.run_config import RunConfig
from gsdsl_service.access import Tokens
from gsdsl_service.application import RequestLimits, Service
from gsdsl_service.sessions import NewSession, Sessions

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "serve.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every path, setting of a session, metric and option is on a page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.gsm").write_text(blocks("gsm")[0])
    assert main(["fmt", "--check", "cluster.gsm"]) == 0
    workspace = load_workspace(tmp_path / "cluster.gsm", Diagnostics())
    service = Service(Sessions(workspace, RunConfig()), Tokens(), RequestLimits(), Metrics())
    for route in service.application().routes:
        shown = re.sub(r"\{name\}", "online-event-1", route.path)  # type: ignore[attr-defined]
        shown = shown.replace("{session}", "NAME").replace("{job:path}", "JOB")
        assert f"{shown}" in PAGE, shown
    for name in NewSession.__struct_fields__:
        assert f"`{name}`" in PAGE
    for metric in service.metrics.registry.collect():
        assert f"`{metric.name}" in PAGE, metric.name
    section = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8").split("\n## serve\n")[1].split("\n## ", 1)[0]
    own = {option for action in build_parser()[1]["serve"]._actions for option in action.option_strings}
    common = {"-D", "--backend", "-h", "--help", "--diagnostics", "--color", "-q", "--quiet", "--profile", "--debug"}
    assert {option for option in own - common if option not in section} == set()


@pytest.mark.slow
def test_every_command_of_the_page(tmp_path: Path) -> None:
    """A shell runs the blocks as they are, but for the port; between them it waits until the service is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "cluster.gsm").write_text(blocks("gsm")[0])
    start, ask = (block.replace("127.0.0.1:8765", f"127.0.0.1:{port}") for block in blocks("sh"))
    start = start.replace("--records records &", f"--records records --port {port} &")
    script = f"""
gsdsl() {{ {sys.executable} -m gpusched_dsl "$@"; }}
{start}
for i in $(seq 600); do curl -sf http://127.0.0.1:{port}/readyz && break; sleep 0.2; done
{ask}
pkill -TERM -P $! || kill -TERM $!
wait
"""
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.get("kind", line.get("state")) for line in lines[:4]] == [None, "open", "ack", "decision"], done
    documents = [line for line in lines[4:] if "kind" not in line]
    assert [document["job"] for document in documents] == ["bert", "bert"]
    assert documents[0]["end"]["values"] in ([4.0], [2.5])
    assert (tmp_path / "records" / "prod.db").exists()
    assert (tmp_path / "tokens").stat().st_mode & 0o77 == 0
