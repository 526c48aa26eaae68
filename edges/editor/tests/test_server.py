"""A client talks to `gsdsl lsp` over standard input and output, as an editor does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lsp_client import Client, with_server
from lsp_models import FILES, MODEL, SCENARIO, place
from lsprotocol import types

MODELS = Path(__file__).resolve().parents[3] / "models"


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


def test_without_the_package_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; from gpusched_dsl.cli import main; sys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "GSM6023" in done.stderr
    assert "pip install '.[lsp]'" in done.stderr


def test_the_features_that_editors_ask_for_are_announced() -> None:
    from gsdsl_editor.server import create_server

    features = set(create_server().protocol.fm.features)
    assert {
        "textDocument/hover", "textDocument/definition", "textDocument/references", "textDocument/rename",
        "textDocument/completion", "textDocument/documentSymbol", "textDocument/semanticTokens/full",
        "textDocument/foldingRange", "textDocument/formatting", "textDocument/codeAction", "textDocument/inlayHint",
        "textDocument/codeLens",
    } <= features  # fmt: skip
