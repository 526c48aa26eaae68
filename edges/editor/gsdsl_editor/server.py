"""The language server: the features of `features/` as handlers of the protocol, over standard input and output."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from gpusched_dsl.version import __version__
from gsdsl_editor.document import Document
from gsdsl_editor.features.code_actions import FIX_ALL, code_actions
from gsdsl_editor.features.code_lenses import SOLVE, TEST, code_lenses
from gsdsl_editor.features.completion import TRIGGERS, completions
from gsdsl_editor.features.diagnostics import client_diagnostics
from gsdsl_editor.features.folding import folding_ranges
from gsdsl_editor.features.formatting import formatting
from gsdsl_editor.features.hover import hover
from gsdsl_editor.features.inlay_hints import inlay_hints
from gsdsl_editor.features.navigation import definition, highlights, references, symbol_at
from gsdsl_editor.features.rename import RenameError, prepare_rename, rename
from gsdsl_editor.features.semantic_tokens import LEGEND, semantic_tokens
from gsdsl_editor.features.symbols import document_symbols
from gsdsl_editor.processes import data_diagnostics, run_command
from gsdsl_editor.protocol import GsmProtocol, WithoutExpected
from gsdsl_editor.session import EditorSession, Settings, path_of

DEBOUNCE = 0.01  # seconds after a change; further changes in this time are checked with it
SLICE = 0.03  # seconds of checks before waiting requests are answered


class GsmServer(LanguageServer):
    """A server with its session and its running checks."""

    def __init__(self) -> None:
        super().__init__(
            "gsdsl", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full, protocol_cls=GsmProtocol
        )
        logging.getLogger("pygls.protocol.json_rpc").addFilter(WithoutExpected())
        self.session = EditorSession()
        self._checking: dict[str, asyncio.Task[None]] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._of_data: dict[str, list[types.Diagnostic]] = {}

    def document(self, uri: str) -> Document:
        try:
            return self.session.document(uri)
        except KeyError:
            raise JsonRpcInvalidParams(f"unknown document {uri}") from None

    # --- diagnostics -------------------------------------------------------------------------------------------------

    def start_check(self, uri: str, *, edited: bool = True) -> None:
        """Check a document soon, and then those that import it; a running check of it ends."""
        before = self._checking.get(uri)
        if before is not None:
            before.cancel()
        if edited:
            self._of_data.pop(uri, None)
            self._stop_reading(uri)
        self._checking[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(DEBOUNCE)
        await self._check_in_slices(uri)
        for other in self.session.importers(uri):
            if other in self.session.open_uris:
                self.session.refresh(other)
                await self._check_in_slices(other)

    async def _check_in_slices(self, uri: str) -> None:
        since = monotonic()
        for found in self.session.check(uri):
            if monotonic() - since > SLICE:
                self._publish(uri, client_diagnostics(self.session.document(uri), found))
                await asyncio.sleep(0)
                since = monotonic()
                if uri not in self.session.open_uris:
                    return
        self._publish(uri, client_diagnostics(self.session.document(uri), found))

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        own = {(d.code, d.range.start.line) for d in found}
        found = found + [d for d in self._of_data.get(uri, ()) if (d.code, d.range.start.line) not in own]
        version = self.session.document(uri).version
        self._published[uri] = found
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def start_reading_data(self, uri: str) -> None:
        """Check the data of a saved file in a process of its own."""
        self._stop_reading(uri)
        if self.session.settings.check_data:
            self._reading[uri] = asyncio.get_running_loop().create_task(self._read_data(uri))

    def _stop_reading(self, uri: str) -> None:
        before = self._reading.pop(uri, None)
        if before is not None:
            before.cancel()

    async def _read_data(self, uri: str) -> None:
        document = self.document(uri)
        found = await data_diagnostics(document)
        if uri in self.session.open_uris and self.session.document(uri).text == document.text:
            self._of_data[uri] = found
            self._publish(uri, client_diagnostics(document, self.session.found(uri)))

    def close(self, uri: str) -> None:
        task = self._checking.pop(uri, None)
        if task is not None:
            task.cancel()
        self._stop_reading(uri)
        self._of_data.pop(uri, None)
        self.session.close(uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def create_server() -> GsmServer:
    """A server with all features."""
    server = GsmServer()
    _add_life_cycle(server)
    _add_navigation(server)
    _add_editing(server)
    _add_presentation(server)
    _add_commands(server)
    return server


def start() -> None:
    """Serve one client over standard input and output; other output of the process goes to standard error."""
    output = sys.stdout.buffer
    sys.stdout = sys.stderr
    create_server().start_io(stdout=output)


# --- documents -------------------------------------------------------------------------------------------------------


def _add_life_cycle(server: GsmServer) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(ls: GsmServer, params: types.InitializeParams) -> None:
        ls.session.settings = Settings.of(params.initialization_options)
        ls.session.encoding = str(getattr(ls.workspace.position_encoding, "value", ls.workspace.position_encoding))
        folders = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        ls.session.folders = [path for uri in folders if (path := path_of(uri)) is not None]

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def change_folders(ls: GsmServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(folder.uri) for folder in params.event.removed}
        added = [path for folder in params.event.added if (path := path_of(folder.uri)) is not None]
        ls.session.folders = [folder for folder in ls.session.folders if folder not in gone] + added

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(ls: GsmServer, params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        ls.session.open(item.uri, item.text, item.version)
        ls.start_check(item.uri)
        ls.start_reading_data(item.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: GsmServer, params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = ls.workspace.get_text_document(uri).source
        ls.session.open(uri, text, params.text_document.version)
        ls.start_check(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(ls: GsmServer, params: types.DidSaveTextDocumentParams) -> None:
        if params.text_document.uri in ls.session.open_uris:
            ls.start_reading_data(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: GsmServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(ls: GsmServer, params: types.DidChangeWatchedFilesParams) -> None:
        for uri in ls.session.open_uris:
            ls.session.refresh(uri)
            ls.start_check(uri, edited=False)


# --- requests --------------------------------------------------------------------------------------------------------


def _add_navigation(server: GsmServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover_request(ls: GsmServer, params: types.HoverParams) -> types.Hover | None:
        return hover(ls.document(params.text_document.uri), params.position, latex=ls.session.settings.latex)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition_request(ls: GsmServer, params: types.DefinitionParams) -> list[types.Location]:
        return definition(ls.document(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references_request(ls: GsmServer, params: types.ReferenceParams) -> list[types.Location]:
        document = ls.document(params.text_document.uri)
        found = symbol_at(document, params.position)
        others = () if found is None else ls.session.others(document.uri, found[0].text)
        return references(document, others, params.position, declaration=params.context.include_declaration)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight_request(ls: GsmServer, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        return highlights(ls.document(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols_request(ls: GsmServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return document_symbols(ls.document(params.text_document.uri))


def _add_editing(server: GsmServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list(TRIGGERS)))
    def completion_request(ls: GsmServer, params: types.CompletionParams) -> types.CompletionList:
        return completions(ls.document(params.text_document.uri), params.position)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_request(ls: GsmServer, params: types.PrepareRenameParams) -> types.Range:
        try:
            return prepare_rename(ls.document(params.text_document.uri), params.position)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename_request(ls: GsmServer, params: types.RenameParams) -> types.WorkspaceEdit:
        document = ls.document(params.text_document.uri)
        found = symbol_at(document, params.position)
        others = () if found is None else ls.session.others(document.uri, found[0].text)
        try:
            return rename(document, others, params.position, params.new_name)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from None

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting_request(ls: GsmServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        return formatting(ls.document(params.text_document.uri))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
    )
    def action_request(ls: GsmServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        document = ls.document(params.text_document.uri)
        return code_actions(document, ls.session.found(document.uri), params.range, params.context.only)


def _add_presentation(server: GsmServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    def tokens_request(ls: GsmServer, params: types.SemanticTokensParams) -> types.SemanticTokens:
        return semantic_tokens(ls.document(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding_request(ls: GsmServer, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        return folding_ranges(ls.document(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def hints_request(ls: GsmServer, params: types.InlayHintParams) -> list[types.InlayHint]:
        return inlay_hints(ls.document(params.text_document.uri), params.range)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def lens_request(ls: GsmServer, params: types.CodeLensParams) -> list[types.CodeLens]:
        return code_lenses(ls.document(params.text_document.uri))


def _add_commands(server: GsmServer) -> None:
    @server.command(SOLVE)
    async def solve(ls: GsmServer, uri: str = "", scenario: str = "") -> dict[str, Any]:
        return await _run(ls, uri, "solve", "--scenario", scenario)

    @server.command(TEST)
    async def test(ls: GsmServer, uri: str = "", name: str = "") -> dict[str, Any]:
        return await _run(ls, uri, "test", "--filter", name)


async def _run(ls: GsmServer, uri: str, command: str, *options: str) -> dict[str, Any]:
    """Run a command on the saved file; show its output, and return it."""
    path = path_of(uri)
    if not all(options):
        raise JsonRpcInvalidParams("the command needs two arguments: a document and a name")
    if path is None:
        raise JsonRpcInvalidParams("the document is not a file: save it first")
    result = await run_command((command, str(path), *options), Path(path).parent)
    kind = types.MessageType.Info if result.code == 0 else types.MessageType.Error
    ls.window_log_message(types.LogMessageParams(kind, result.output))
    first = next((line for line in result.output.splitlines() if line.strip()), command)
    ls.window_show_message(types.ShowMessageParams(kind, first))
    return {"code": result.code, "output": result.output}
