"""The server of the Model Context Protocol: tools for models, and the pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from gpusched_dsl.version import __version__
from gsdsl_assistants import reading
from gsdsl_assistants.calls import Calls, ModelText
from gsdsl_assistants.limits import CallLimits, CallRefused
from gsdsl_assistants.tool_options import with_options

INSTRUCTIONS = """\
gsdsl is a modelling language (.gsm) for scheduling jobs on GPU clusters. Read the page `language` before you write a
model, and a shipped model as an example (`list_models`, `read_model`). Then: `check` after each change; where a
diagnostic has `edits`, `repair` makes them; `read_error` explains a code; `explain` tells why a problem is infeasible;
`solve` solves small problems. Give a model as `text` (with `files`: the imports and CSV files that it names), or as
`file` in the folder of the server."""

Text = Annotated[str | None, Field(description="the text of the model")]
File = Annotated[str | None, Field(description="instead of `text`: a .gsm file, relative to the folder of the server")]
Files = Annotated[
    dict[str, str] | None, Field(description="with `text`: other files by name, such as imports and CSV files")
]
Model = Annotated[str | None, Field(description="name of the model")]

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def build_server(folder: Path, limits: CallLimits, *, allow_outside: bool = False) -> MCPServer:
    """Return the server; models given as `file` are below `folder`."""
    server = MCPServer("gsdsl", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    calls = Calls(folder, limits, allow_outside=allow_outside)
    _add_model_tools(server, calls)
    _add_policy_tools(server, calls)
    _add_inspection(server, calls)
    _add_documents(server)
    return server


def _add_model_tools(server: MCPServer, calls: Calls) -> None:
    @server.tool(annotations=READS)
    @with_options("check")
    async def check(text: Text = None, file: File = None, files: Files = None, **options: Any) -> dict[str, Any]:
        """Check syntax, names, index types, units and data of a model, without solving.

        Returns all diagnostics: code, place, message, help, and `edits`, the change that the help line proposes.
        `fixed_text` is the text with all edits made, `report` the same diagnostics as text with the lines underlined.
        """
        return await _call(calls, "check", _model(text, file, files), **options)

    @server.tool(annotations=READS)
    @with_options("check")
    async def repair(text: str, files: Files = None, **options: Any) -> dict[str, Any]:
        """Make the edits that diagnostics propose, check again, and repeat until there are none.

        Returns the changed `texts` by file (`model.gsm` is `text`) and the diagnostics that are left.
        """
        return await _call(calls, "repair", ModelText(text, None, files), **options)

    @server.tool(annotations=READS)
    async def format(text: str) -> dict[str, Any]:
        """Return a model in the standard layout of the language."""
        return await _call(calls, "format", ModelText(text))

    @server.tool(annotations=READS)
    @with_options("solve")
    async def solve(text: Text = None, file: File = None, files: Files = None, **options: Any) -> dict[str, Any]:
        """Solve a small scenario with a solver or a policy: status, objective by term, bound, values, placement.

        Long lists are cut: `left_out` counts what is missing.
        """
        return await _call(calls, "solve", _model(text, file, files), **calls.limited(options))

    @server.tool(annotations=READS)
    @with_options("explain")
    async def explain(text: Text = None, file: File = None, files: Files = None, **options: Any) -> dict[str, Any]:
        """Explain the problem of a scenario: sizes, reformulations, and why it is infeasible or unbounded.

        An infeasible problem is explained by a minimal conflict in the lines of the model, and by relaxations.
        """
        return await _call(calls, "explain", _model(text, file, files), **calls.limited(options))


def _add_policy_tools(server: MCPServer, calls: Calls) -> None:
    @server.tool(annotations=READS)
    async def list_policies(
        text: Text = None,
        file: File = None,
        files: Files = None,
        model: Model = None,
        rules: Annotated[bool, Field(description="list the rules that policies are made of instead")] = False,
    ) -> dict[str, Any]:
        """List the policies (heuristics) for the models of a text; without a text, those of the library."""
        return await _call(calls, "policies", ModelText(text, file, files), model=model, rules=rules)

    @server.tool(annotations=READS)
    async def describe_policy(
        policy: str, text: Text = None, file: File = None, files: Files = None, model: Model = None
    ) -> dict[str, Any]:
        """Describe a policy step by step in plain English."""
        return await _call(calls, "describe_policy", ModelText(text, file, files), policy=policy, model=model)


def _add_inspection(server: MCPServer, calls: Calls) -> None:
    @server.tool(annotations=READS)
    @with_options("inspect")
    async def inspect(
        source: Annotated[str, Field(description="a file or folder, relative to the folder of the server")],
        **options: Any,
    ) -> dict[str, Any]:
        """Look at saved outputs of Slurm or kubectl, records of sacct, or a trace of jobs, without a model.

        Returns the load by type and team, who waits and why, starts, other queues, what would help, and the report as
        `text`. The page `inspect` explains them.
        """
        return await _call(calls, "inspect", ModelText(), here=True, source=source, **options)


def _add_documents(server: MCPServer) -> None:
    @server.tool(annotations=READS)
    def list_documentation() -> dict[str, str]:
        """List the pages of the documentation: names and titles."""
        return reading.titles()

    @server.tool(annotations=READS)
    def read_documentation(
        page: Annotated[str, Field(description="the name of a page, such as `language`")],
        section: Annotated[str | None, Field(description="a heading of the page: only this section")] = None,
        start: Annotated[int, Field(description="first character, to read on in a long page", ge=0)] = 0,
    ) -> dict[str, Any]:
        """Read a page of the documentation, or one of its sections; `next` is where a long text continues."""
        with _errors():
            return reading.read(page, section, start)

    @server.tool(annotations=READS)
    def read_error(code: Annotated[str, Field(description="the code of a diagnostic, such as GSM3002")]) -> str:
        """Explain a diagnostic code, with an example and its remedy."""
        with _errors():
            return reading.read_code(code)

    @server.tool(annotations=READS)
    def list_models() -> dict[str, str]:
        """List the shipped models by their import names, with their first lines."""
        return reading.models()

    @server.tool(annotations=READS)
    def read_model(name: Annotated[str, Field(description="such as gsdsl:capacity_planning/model.gsm")]) -> str:
        """Return the text of a shipped model."""
        with _errors():
            return reading.read_model(name)

    @server.resource("gsdsl://docs/{page}", mime_type="text/markdown")
    def documentation(page: str) -> str:
        """A page of the documentation."""
        return reading.page_text(page)


def _model(text: str | None, file: str | None, files: dict[str, str] | None) -> ModelText:
    model = ModelText(text, file, files)
    if not model.is_given:
        raise ToolError("give the model as `text`, or as `file`")
    return model


async def _call(calls: Calls, tool: str, model: ModelText, /, **arguments: Any) -> dict[str, Any]:
    with _errors():
        return await calls.run(tool, model, **arguments)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except CallRefused as refused:
        raise ToolError(str(refused)) from None
