"""A client talks to `gsdsl lsp` over standard input and output, as an editor does."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from lsp_client import Client, with_server
from lsp_models import FILES, MODEL, SCENARIO, place
from lsprotocol import types

MODELS = Path(__file__).resolve().parents[2] / "models"


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_a_session_of_an_editor(tmp_path: Path) -> None:
    write_files(tmp_path)

    async def talk(client: Client) -> None:
        uri = client.open("small.gsm", MODEL)
        document = types.TextDocumentIdentifier(uri)
        assert await client.diagnostics(uri) == []
        broken = MODEL.replace("hours[j] *", "hors[j] *")
        client.change(uri, broken)
        (wrong,) = await client.diagnostics(uri)
        assert wrong.code == "GSM1101"
        actions = await client.lsp.text_document_code_action_async(
            types.CodeActionParams(document, wrong.range, types.CodeActionContext([wrong]))
        )
        assert actions
        assert [a.title for a in actions] == ["write `hours`", "fix all"]
        client.change(uri, MODEL)
        assert await client.diagnostics(uri) == []
        shown = await client.lsp.text_document_hover_async(types.HoverParams(document, place(MODEL, "price[n]")))
        assert shown is not None
        assert "$/h" in str(shown.contents)
        edit = await client.lsp.text_document_rename_async(types.RenameParams(document, place(MODEL, "Jobs"), "Tasks"))
        assert edit is not None
        assert edit.changes is not None
        assert {Path(u).name for u in edit.changes} == set(FILES)
        with pytest.raises(Exception, match="reserved word"):
            await client.lsp.text_document_rename_async(types.RenameParams(document, place(MODEL, "Jobs"), "set"))
        offered = await client.lsp.text_document_completion_async(
            types.CompletionParams(document, place(MODEL, "price[n] *", 6))
        )
        assert isinstance(offered, types.CompletionList)
        assert min(offered.items, key=lambda i: i.sort_text or "").label == "n"
        other = client.open("two.gsm", SCENARIO)
        ran = await client.lsp.workspace_execute_command_async(
            types.ExecuteCommandParams("gsdsl.test", arguments=[other, "T"])
        )
        assert ran["code"] == 0, ran
        assert "T" in ran["output"]

    with_server(tmp_path, talk)


@pytest.mark.slow
def test_data_are_checked_when_a_file_is_saved(tmp_path: Path) -> None:
    write_files(tmp_path)
    text = SCENARIO.replace("table Jobs: hours[h] = a 1 b 2;", "table Jobs: hours[h] = a 1 b -2;")
    (tmp_path / "two.gsm").write_text(text, encoding="utf-8")

    async def talk(client: Client) -> None:
        uri = client.open("two.gsm", text)
        for _ in range(200):
            found = await client.diagnostics(uri)
            if found:
                break
            client.arrived.clear()
            await client.arrived.wait()
        assert [d.code for d in found if str(d.code).startswith("GSM2")]

    with_server(tmp_path, talk, checkData=True)


def large_text(lines: int) -> str:
    """One model of so many lines, with sums, units and conditions in its constraints."""
    parts = ["model Large {", "  set Jobs;", "  set Nodes;"]
    for i in range(lines // 5):
        parts += [
            f"  param hours{i}[Jobs] in h >= 0;",
            f"  var on{i}[j in Jobs, n in Nodes] binary;",
            f"  let load{i}[n in Nodes] in h = sum[j in Jobs] hours{i}[j] * on{i}[j, n];",
            f"  constraint once{i}[j in Jobs]: sum[n in Nodes] on{i}[j, n] <= 1;",
            f"  constraint full{i}[n in Nodes]: load{i}[n] <= 8[h];",
        ]
    return "\n".join([*parts, "}", ""])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one model", "many blocks"])
def test_a_keystroke_in_2000_lines_is_answered_in_100_ms(kind: str, tmp_path: Path) -> None:
    """The processor time of the server from a change to its diagnostics: it does not depend on other processes."""
    if kind == "one model":
        text = large_text(2000)
    else:
        text = "".join(
            large_text(100).replace("Large", f"M{i}") + f"scenario S{i} for M{i} {{ Jobs = {{ a, b }}; }}\n"
            for i in range(20)
        )
    assert text.count("\n") > 1950

    async def talk(client: Client) -> None:
        uri = client.open("large.gsm", text)
        await client.diagnostics(uri)
        server = client.lsp._server
        assert server is not None
        spent: list[float] = []
        middle = text.index("constraint once9[")
        place = text.index("<= 1", middle) + 4
        for typed in ("0", "0 +", "0 + ", "0 + 1"):
            before = processor_time(server.pid)
            client.change(uri, text[:place] + typed + text[place:])
            found = await client.diagnostics(uri)
            spent.append(processor_time(server.pid) - before)
            assert bool(found) == typed.rstrip().endswith("+")
        assert statistics.median(spent) < 0.1, spent

    with_server(tmp_path, talk)


def processor_time(pid: int) -> float:
    """The processor time of a process in seconds."""
    if not Path(f"/proc/{pid}/stat").exists():
        pytest.skip("needs /proc")
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_without_the_package_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; from gpusched_dsl.cli import main; sys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "GSM6023" in done.stderr
    assert "pip install 'gpusched-dsl[lsp]'" in done.stderr


def test_the_features_that_editors_ask_for_are_announced() -> None:
    from gpusched_dsl.language_server.server import create_server

    features = set(create_server().protocol.fm.features)
    assert {
        "textDocument/hover", "textDocument/definition", "textDocument/references", "textDocument/rename",
        "textDocument/completion", "textDocument/documentSymbol", "textDocument/semanticTokens/full",
        "textDocument/foldingRange", "textDocument/formatting", "textDocument/codeAction", "textDocument/inlayHint",
        "textDocument/codeLens",
    } <= features  # fmt: skip
