"""One table of options: every door has the options that it says, and refuses the others with its reasons."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from found_codes import raises_code

import gpusched_dsl as gs
from docs.site import options as options_page
from gpusched_dsl.cli import main
from gpusched_dsl.cli.arguments.commands import COMMANDS, build_parser
from gpusched_dsl.cli.completion import candidates
from gpusched_dsl.interface.campaigns import ModelCampaign
from gpusched_dsl.interface.model import RunOptions
from gpusched_dsl.language.blocks.campaigns.methods import options_for
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.options import table
from gpusched_dsl.options.kinds import COUNT
from gpusched_dsl.options.option import DOORS, OptionRow
from gpusched_dsl.solving.option_checks import check_values, option_diagnostics
from gsdsl_notebook.commands import COMMANDS as NOTEBOOK
from gsdsl_notebook.commands import parser_of

FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("solve", "python"): gs.Model.solve, ("solve", "problem"): gs.solve, ("run", "python"): gs.Model.run,
    ("compare", "python"): gs.Model.compare, ("explain", "python"): gs.Model.explain,
    ("check", "python"): gs.Model.check, ("estimate", "python"): gs.Model.estimate, ("why", "python"): gs.Model.why,
    ("live", "python"): gs.Model.live, ("flexibility", "python"): gs.Model.flexibility,
    ("export", "python"): gs.Model.export, ("ground", "python"): gs.Model.ground,
    ("resolve", "python"): gs.Model.resolve, ("compile", "python"): gs.compile, ("load", "python"): gs.load,
    ("loads", "python"): gs.loads, ("inspect", "python"): gs.inspect, ("campaign", "python"): ModelCampaign.run,
    ("campaigns", "python"): gs.Model.campaign, ("policies", "python"): gs.Model.policies,
}  # fmt: skip
TEXT = """
model Pack {
  set Items; param worth[Items] >= 0; param room;
  var take[i in Items] integer >= 0 <= 3;
  maximize gain: sum[i in Items] worth[i] * take[i];
  constraint fits: sum[i in Items] take[i] <= room;
}
scenario Small for Pack { Items = { a, b }; worth = 2; room = 4; }
"""
ONLINE = (Path(gs.__file__).parents[1] / "models" / "capacity_planning" / "online.gsm").read_text(encoding="utf-8")


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in gs.loads(text).check(strict=False)]


def in_campaign(statement: str) -> list[gs.Diagnostic]:
    return list(gs.loads(f"{TEXT}campaign C {{ {statement} }}").check(strict=False))


# --- the signatures of Python ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "door"), FUNCTIONS)
def test_a_signature_has_the_options_of_the_table(verb: str, door: str) -> None:
    function = FUNCTIONS[verb, door]
    parameters = {name: p for name, p in inspect.signature(function).parameters.items() if name != "self"}
    if door == "problem":
        del parameters["problem"]
    rows = table.by_name(verb, door)
    assert parameters.keys() == rows.keys()
    for name, parameter in parameters.items():
        row = rows[name]
        if not row.required and not row.place:
            assert parameter.default == row.default, name
        if row.kind.type in (bool, int, float, str) and row.kind.test is None and parameter.annotation is not Any:
            written = {*re.findall(r"\b(?:bool|int|float|str)\b", str(parameter.annotation))}
            assert written == {row.kind.type.__name__}, name


def test_the_overloads_of_run_have_all_of_its_options() -> None:
    typed = RunOptions.__annotations__
    assert typed.keys() == table.by_name("run", "python").keys() - {"scenario", "online", "method", "seeds"}


def test_every_row_is_of_a_verb_and_a_door() -> None:
    verbs = {*COMMANDS, *(verb for verb, _ in FUNCTIONS), "output", "problem_from_json", "generic_policies"}
    for row in table.TABLE:
        assert {*row.verbs.split()} <= verbs, row.name
        assert {*row.doors.split()} <= {*DOORS}, row.name
        assert row.help[0].islower() or row.help[:1] in "`." or row.help[:4] in ("CSV ",), row.help
        for verb in row.verbs.split():
            beside = {row.needs, *row.excludes} - {"", "methods", "seeds"}
            assert beside <= table.by_name(verb).keys(), row.name
    names = [(verb, door, row.name) for row in table.TABLE for verb in row.verbs.split() for door in row.doors.split()]
    twice = {name for name in names if names.count(name) > 1}
    # for Python, arguments replace options of the command line
    assert {name for name in twice if name[1] not in ("python", "problem")} == set()


# --- a new row -------------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[OptionRow]:
    """A row that no code knows, at all doors of `solve`, and at those of `serve`."""
    about = "how often the judge shakes its head"
    row = OptionRow("shakes", COUNT, 7, about, "solve serve", " ".join(DOORS), title="the number of shakes")
    monkeypatch.setattr(table, "TABLE", (*table.TABLE, row))
    table.rows.cache_clear()
    table.by_name.cache_clear()
    yield row
    monkeypatch.undo()
    table.rows.cache_clear()
    table.by_name.cache_clear()


def test_the_command_line_has_a_new_row(outside: OptionRow, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser("solve")[1]["solve"]
    assert parser.parse_args(["m.gsm"]).shakes == 7
    assert parser.parse_args(["m.gsm", "--shakes", "3"]).shakes == 3
    assert f"{outside.help} (default: 7)" in " ".join(parser.format_help().split())
    (tmp_path / "m.gsm").write_text(TEXT)
    assert main(["solve", str(tmp_path / "m.gsm"), "--shakes", "0"]) == 2
    assert "argument --shakes: `0` is less than 1" in capsys.readouterr().err
    assert main(["solve", str(tmp_path / "m.gsm"), "--shakes", "2"]) == 0
    assert [name for name, _ in candidates(["solve"], "--sha")] == ["--shakes"]


@pytest.mark.usefixtures("outside")
def test_the_check_of_python_has_a_new_row() -> None:
    assert check_values("solve", {"shakes": 2}) == {"shakes": 2}
    for door in ("python", "problem"):
        with raises_code("GSM4011", "1", "0"):
            check_values("solve", {"shakes": 0}, door)
    with pytest.raises(AssertionError, match="shakes"):
        test_a_signature_has_the_options_of_the_table("solve", "python")


@pytest.mark.usefixtures("outside")
def test_a_notebook_has_a_new_row() -> None:
    parser = parser_of("solve", "model")
    assert parser.parse_args(["--shakes", "3"]).shakes == 3
    assert "--shakes" in parser.format_help()


@pytest.mark.usefixtures("outside")
def test_campaigns_and_tests_have_a_new_row() -> None:
    assert in_campaign("solve Small with highs (shakes = 3);") == []
    [wrong] = in_campaign("solve Small with highs (shakes = 0.5);")
    assert (wrong.code, wrong.message) == ("GSM1603", "`shakes` must be an integer from 1")
    assert codes(f"{TEXT} test T {{ solve Small with highs (shakes = 3); }}") == []
    assert codes(f"{TEXT} test T {{ solve Small with highs (shakes = 0); }}") == ["GSM1603"]


def test_assistants_have_a_new_row(outside: OptionRow, tmp_path: Path) -> None:
    from gsdsl_assistants.limits import CallLimits
    from gsdsl_assistants.server import build_server

    tools = asyncio.run(build_server(tmp_path, CallLimits()).list_tools())
    [solve] = (tool for tool in tools if tool.name == "solve")
    found = solve.input_schema["properties"]["shakes"]
    assert (found["type"], found["minimum"], found["default"]) == ("integer", 1, 7)
    assert found["description"] == outside.help
    assert solve.output_schema is not None


@pytest.mark.usefixtures("outside")
def test_requests_for_sessions_have_a_new_row() -> None:
    from gsdsl_service.sessions import session_type

    asked = session_type()
    assert gs_decode(b'{"name": "a", "shakes": 3}', asked).shakes == 3
    with pytest.raises(ValueError, match=r"`int` >= 1 - at `\$.shakes`"):
        gs_decode(b'{"name": "a", "shakes": 0}', asked)


def gs_decode(text: bytes, asked: type) -> Any:
    from msgspec.json import decode

    return decode(text, type=asked)


def test_the_reference_page_has_a_new_row(outside: OptionRow) -> None:
    page = options_page.page()
    assert f"| `--shakes` `N` | {outside.help} (default: 7) |" in page
    assert "| `shakes`* | an integer from 1 |" in page


# --- doors agree -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["solve", "run"])
def test_a_campaign_knows_every_option_or_refuses_it(verb: str) -> None:
    """What commands and Python take is an option in a campaign too, or refused, mostly with the reason of the table."""
    statement = "solve Small with highs" if verb == "solve" else "run Small with highs under EveryEvent"
    beside = {"scenario", "online", "method", "methods", "backend", "settings", "monitor", "solver_options", "stop",
              "tell", "seeds"}  # fmt: skip
    refused = set()
    for name, row in table.by_name(verb, "python").items():
        if name in beside or name in options_for(verb):
            continue
        assert row.absent["campaign"], name
        refused.add(name)
        if verb == "solve" and name != "within":  # a word of the language
            [found] = in_campaign(f"{statement} ({name} = 3);")
            assert found.code == "GSM1609"
            assert found.message == f"`{name}` is not an option in a campaign: {row.absent['campaign']}"
    assert (
        refused
        == {
            "solve": {"duals", "engine", "workers", "reasons", "alternatives", "within", "distinct_by", "options_of"},
            "run": {"journal", "replay", "why_gap"},
        }[verb]
    )


@pytest.mark.parametrize("option", ['without = "all"', "second_opinion = true", "without = aggregation"])
def test_a_campaign_takes_what_a_solve_takes(option: str) -> None:
    assert in_campaign(f"solve Small with highs ({option});") == []


def test_a_campaign_refuses_an_unknown_pass() -> None:
    [found] = in_campaign("solve Small with highs (without = al);")
    assert (found.code, found.message) == ("GSM4011", "unknown pass `al`")
    assert found.primary is not None
    assert found.primary.text == "without"


def test_a_campaign_skips_a_pass(tmp_path: Path) -> None:
    text = f'{TEXT}campaign C {{ solve Small with highs as A, highs (without = "all", second_opinion = true) as B; }}'
    done = gs.loads(text).campaign().run(tmp_path / "store", engine="inline")
    assert done.table["state"].to_list() == ["done", "done"]
    assert done.table["objective"].to_list() == [8.0, 8.0]


@pytest.mark.parametrize("door", ["command", "python", "notebook", "campaign"])
def test_a_bound_of_a_solver_is_the_same_error_everywhere(
    door: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "is only for policies and local search: `highs` proves a bound itself"
    if door == "command":
        (tmp_path / "m.gsm").write_text(TEXT)
        assert main(["solve", str(tmp_path / "m.gsm"), "--bound"]) == 2
        assert f"error[GSM6002]: `--bound` {words}" in capsys.readouterr().err
        return
    if door == "campaign":
        [found] = in_campaign("solve Small with highs (bound = true);")
    else:
        from gsdsl_notebook.magics import Magics

        model = gs.loads(TEXT)
        with pytest.raises(DiagnosticError) as caught:
            model.solve(bound=True) if door == "python" else Magics({"model": model}).line("solve model --bound")
        [found] = caught.value.diagnostics
    assert (found.code, words in found.message) == ("GSM6002", True)


def test_commands_with_one_method_have_both_names_of_it() -> None:
    parsers = {command: build_parser(command)[1][command]._option_string_actions for command in COMMANDS}
    with_one = {command: actions for command, actions in parsers.items() if "--backend" in actions}
    assert len(with_one) > 7
    assert {command for command, actions in parsers.items() if "--method" in actions} == {*with_one, "compare"}
    assert all(actions["--backend"] is actions["--method"] for actions in with_one.values())


@pytest.mark.parametrize("call", ["solve", "explain", "problem"])
def test_two_names_of_the_method_agree(call: str) -> None:
    model, problem = gs.loads(TEXT), gs.compile(TEXT)
    calls = {"solve": model.solve, "explain": model.explain, "problem": functools.partial(gs.solve, problem)}
    with pytest.raises(DiagnosticError) as caught:
        calls[call](backend="scip", method="highs")
    [found] = caught.value.diagnostics
    assert found.code == "GSM6002"
    assert "`backend` is `'scip'` and `method` is `'highs'`" in found.message
    for fine in ({"backend": "scip"}, {"method": "scip"}, {"backend": "scip", "method": "scip"}):
        assert calls[call](**fine).to_dict()["backend"] == "scip"


def test_compare_takes_the_heuristic_and_the_decomposition(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = gs.loads(TEXT)
    [row] = model.compare(["highs"], heuristic="off", decompose="off").rows
    assert row.result is not None
    options = row.result.solved.options
    assert (options.heuristic, options.decompose) == ("off", "off")
    for wrong in ({"heuristic": "of"}, {"decompose": True}):
        with pytest.raises(DiagnosticError, match="GSM4011"):
            model.compare(["highs"], **wrong)
    (tmp_path / "m.gsm").write_text(TEXT)
    assert (
        main(["compare", str(tmp_path / "m.gsm"), "--methods", "highs", "--heuristic", "on", "--decompose", "off"]) == 0
    )
    assert main(["compare", str(tmp_path / "m.gsm"), "--methods", "highs", "--heuristic", "of"]) == 2


def test_needs_and_reasons_are_those_of_the_rows() -> None:
    for verb in ("solve", "run", "check"):
        for name, row in table.by_name(verb).items():
            if row.needs:
                [found] = option_diagnostics(verb, {name})
                assert re.fullmatch(f"`{name}` is only for `{row.needs}`", found.message)


def test_every_line_of_a_notebook_is_a_command() -> None:
    assert NOTEBOOK.keys() <= COMMANDS.keys()


@pytest.mark.parametrize(
    ("method", "flags", "name"),
    [
        ("highs", "--alternatives 2", "alternatives"),
        ("highs", "--options-of j", "options-of"),
        ("highs", "--alternatives 2 --within 5%", "alternatives"),
        ("search", "--bound", "bound"),
    ],
)
def test_a_compiled_problem_refuses_what_needs_its_model(
    method: str, flags: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.json").write_bytes(gs.problem_to_json(gs.compile(TEXT)))
    command = ["solve", str(tmp_path / "m.json"), "--method", method, "--time-limit", "20"]
    assert main([*command, *flags.split()]) == 2
    assert f"error[GSM6002]: `--{name}` needs a `.gsm` file: " in capsys.readouterr().err
    assert main(command) == 0
