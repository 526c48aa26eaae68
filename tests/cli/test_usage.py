import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusched_dsl import Result
from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.commands import COMMANDS, build_parser
from gpusched_dsl.options.table import TABLE
from gpusched_dsl.version import __version__

Run = Callable[..., object]

# Any solution is found at once, the best one is never proved in the time a test has: equal weights of odd parity.
HARD = """\
model Halves {
  set Items = 1..60;
  set Bins = 1..3;
  var on[Items, Bins] binary;
  var over[Bins] >= 0;
  minimize uneven: sum[b in Bins] over[b];
  constraint one[i in Items]: sum[b in Bins] on[i, b] == 1;
  constraint high[b in Bins]:
    sum[i in Items] (1000 + i * i * 37 - 111 * i) * on[i, b] - (sum[i in Items] (1000 + i * i * 37 - 111 * i)) / 3
      <= over[b];
  constraint low[b in Bins]:
    (sum[i in Items] (1000 + i * i * 37 - 111 * i)) / 3 - sum[i in Items] (1000 + i * i * 37 - 111 * i) * on[i, b]
      <= over[b];
}
scenario Only for Halves { }
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gpusched_dsl", *arguments]


def test_help_lists_commands_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.cli import main

    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert all(f"    {name} " in text for name in COMMANDS)
    unwrapped = re.sub(r"\n {7}(?=\S)", " ", text)
    for code, meaning in exits.TABLE:
        assert re.search(rf"^ +{code}  {re.escape(meaning)}$", unwrapped, re.MULTILINE)


def test_a_command_alone_has_the_same_options_as_among_all() -> None:
    """A command line is parsed by a parser that knows its command only."""
    whole, commands = build_parser()
    for name, complete in commands.items():
        parser, alone = build_parser(name)
        assert list(alone) == [name]
        assert alone[name].format_help() == complete.format_help()
        assert alone[name].option_names == complete.option_names
        assert parser.option_names == whole.option_names


@pytest.mark.parametrize("words", ["--help check", "-h check", "-qh check", "--color never --help check"])
def test_help_before_a_command_is_that_of_all(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.cli import main

    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert all(f"    {name} " in text for name in COMMANDS)


def test_every_exit_code_is_documented() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for code, _ in exits.TABLE:
        assert f"| {code} |" in documented
    options = {name for row in TABLE if not row.place and "cli" in row.doors for name in row.flags}
    assert len(options) > 100
    for option in options:
        assert f"`{option}" in documented or f"{option} " in documented, option


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.cli import main

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"gsdsl {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["slove", "x.gsm"], "GSM6001", "did you mean `solve`?"),
        (["--color", "never", "slove"], "GSM6001", "did you mean `solve`?"),
        (["model.gsm"], "GSM6001", "gsdsl solve model.gsm"),
        (["deploy", "x.gsm"], "GSM6001", "the commands are"),
        (["solve"], "GSM6002", "FILE"),
        (["solve", "a.gsm", "b.gsm"], "GSM6002", "unexpected argument `b.gsm`"),
        (["solve", "a.gsm", "--gapp", "1"], "GSM6002", "did you mean `--gap`?"),
        (["solve", "a.gsm", "--gap", "x"], "GSM6002", "`x` is not a number"),
        (["solve", "a.gsm", "--gap", "-1"], "GSM6002", "negative"),
        (["solve", "a.gsm", "--gap", "nan"], "GSM6002", "not a number"),
        (["solve", "a.gsm", "--threads", "0"], "GSM6002", "from 1 to"),
        (["solve", "a.gsm", "--seed", "1.5"], "GSM6002", "nonnegative integer"),
        (["solve", "a.gsm", "--memory-limit", "0"], "GSM6002", "not positive"),
        (["solve", "a.gsm", "--time"], "GSM6002", "did you mean `--time-limit`"),
        (["solve", ""], "GSM6002", "is empty"),
        (["solve", "a.gsm", "--csv", ""], "GSM6002", "is empty"),
        (["export", "a.gsm"], "GSM6002", "--to"),
        (["export", "a.gsm", "--to", "gams"], "GSM6002", "gams"),
        (["new", ""], "GSM6002", "name of a project"),
        (["--diagnostics", "xml", "check"], "GSM6002", "xml"),
    ],
)
def test_wrong_usage(gsdsl: Run, arguments: list[str], code: str, words: str) -> None:
    done = gsdsl(*arguments)
    assert done.code == (1 if arguments[0] == "new" else 2)
    assert f"error[{code}]" in done.err
    assert words in done.err


def test_wrong_usage_as_json(gsdsl: Run) -> None:
    done = gsdsl("solve", "a.gsm", "--gap", "x", "--diagnostics", "json")
    assert done.code == 2
    assert "GSM6002" in json.dumps(json.loads(done.err))


def test_no_command_shows_the_help(gsdsl: Run) -> None:
    done = gsdsl()
    assert done.code == 2
    assert "commands:" in done.err


def test_colours(gsdsl: Run, pack: Path) -> None:
    assert "\x1b[" not in gsdsl("check", "none.gsm").err
    assert "\x1b[" in gsdsl("check", "none.gsm", "--color", "always").err


@pytest.mark.parametrize("debug", [False, True])
def test_a_defect_is_told_without_a_traceback(
    gsdsl: Run, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debug: bool
) -> None:
    from gpusched_dsl.cli import check

    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("a defect\nof two lines")

    monkeypatch.setattr(check, "check_all", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = gsdsl("check", pack, *(["--debug"] if debug else []))
    assert done.code == exits.INTERNAL
    assert "error[GSM9999]: internal error: ZeroDivisionError: a defect" in done.err
    assert ("Traceback" in done.err) == debug
    (kept,) = tmp_path.glob("gsdsl-error-*.txt")
    assert str(kept) in done.err
    assert "ZeroDivisionError: a defect" in kept.read_text()


def test_running_out_of_memory_is_no_defect(gsdsl: Run, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched_dsl.cli import check

    def broken(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(check, "check_all", broken)
    done = gsdsl("check", pack)
    assert done.code == exits.BAD_INPUT
    assert "error[GSM6014]" in done.err


def test_ctrl_c_before_the_solver(gsdsl: Run, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched_dsl.cli import check

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check_all", interrupted)
    done = gsdsl("check", pack)
    assert done.code == exits.INTERRUPTED
    assert done.err == "interrupted\n"


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(pack: Path) -> None:
    arguments = command("export", str(pack), "--to", "json")
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == exits.BROKEN_PIPE


@pytest.mark.slow
def test_an_ascii_terminal_shows_escapes(variant: Callable[..., Path]) -> None:
    path = variant("Items", "Dinge_ü", "Pack", "Päck")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command("solve", str(path)), capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("P\\xe4ck, scenario Small")


def test_the_second_ctrl_c_leaves_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from gpusched_dsl.cli import progress

    class Left(Exception):
        pass

    def leave(code: int) -> None:
        raise Left(code)

    monkeypatch.setattr(progress.os, "_exit", leave)
    said: list[str] = []
    watch = progress.ProgressMonitor(said.append)
    watch.ask_to_stop(signal.SIGINT, None)
    assert watch.stop_requested
    assert len(said) == 1
    with pytest.raises(Left, match=str(exits.INTERRUPTED)):
        watch.ask_to_stop(signal.SIGINT, None)
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("infeasible", "", exits.INFEASIBLE),
        ("infeasible_or_unbounded", "", exits.INFEASIBLE),
        ("unbounded", "", exits.UNBOUNDED),
        ("limit", "time", exits.NO_SOLUTION_YET),
        ("limit", "interrupt", exits.INTERRUPTED),
    ],
)
def test_exit_codes_without_a_solution(status: str, reason: str, code: int) -> None:
    from gpusched_dsl import loads
    from gpusched_dsl.cli.solve import exit_code
    from gpusched_dsl.ir.solver_result import Status

    solved = loads("model M { var x >= 1 <= 2; minimize f: x; } scenario S for M { }").solve()
    assert exit_code(solved) == exits.OK

    def ended(**parts: object) -> Result:
        return replace(solved, solved=replace(solved.solved, status=Status(status), reason=reason, **parts))

    assert exit_code(ended()) == exits.OK
    assert exit_code(ended(point=None, objectives=())) == code


def interrupted(
    command: list[str], folder: Path, patience: float, sent: signal.Signals, child: Callable[..., Any]
) -> tuple[int, str, str]:
    """Exit code and output of a solve that gets a signal some seconds after its header."""
    process = child(command, cwd=folder)
    header = "".join(process.stdout.readline() for _ in range(3))  # comes before the solver starts
    time.sleep(patience)
    assert process.poll() is None, "the instance is meant to keep the solver busy"
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    return process.returncode, header + out, err


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("backend", "sent"), [("highs", signal.SIGINT), ("highs", signal.SIGTERM), ("scip", signal.SIGINT)]
)
def test_ctrl_c_keeps_the_best_solution(
    tmp_path: Path, backend: str, sent: signal.Signals, child: Callable[..., Any]
) -> None:
    (tmp_path / "hard.gsm").write_text(HARD)
    arguments = ["solve", "hard.gsm", "--gap", "0", "--backend", backend, "--json", "out.json", "--csv", "csv"]
    for patience in (2, 8, 30):  # on a busy machine the solver may have no solution yet
        code, out, err = interrupted(command(*arguments), tmp_path, patience, sent, child)
        if code != exits.INTERRUPTED:
            break
    assert code == exits.OK, err
    assert "Halves" in out
    assert "stopped by Ctrl-C; the best solution found is shown" in out
    assert "stopping with the best solution so far" in err
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["status"], found["reason"]) == ("limit", "interrupt")
    assert sum(e["value"] for e in found["variables"]["on"]) == 60
    assert (tmp_path / "csv" / "on.csv").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [("solve", "--json", "-"), ("solve",), ("check", "--diagnostics", "json")])
def test_a_full_disk_is_an_error_of_the_output(pack: Path, arguments: tuple[str, ...]) -> None:
    command, *options = arguments
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gpusched_dsl", command, str(pack), *options],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error[GSM6008]: cannot write the output: No space left on device\n")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve", "m.gsm", "--alternatives", "2", "--within", "-1%"], "--within: `-1%` is negative"),
        (["solve", "m.gsm", "--gap", "-1%"], "--gap: `-1%` is negative"),
        (["solve", "m.gsm", "--gap", "many%"], "--gap: `many%` is not a number"),
        (["solve", "m.gsm", "--time-limit", "-5m"], "--time-limit: `-5m` is negative"),
        (["run", "m.gsm", "--seeds", "-1,2"], "--seeds: `-1` is not a nonnegative integer"),
        (["flexibility", "m.gsm", "--event", "1", "--probability", "-50%"], "--probability: `-50%` is negative"),
        (["estimate", "m.gsm", "--job", "j", "--at", "-3h"], "--at: `-3h` is negative"),
        (["solve", "m.gsm", "--within"], "`--within` needs a value"),
        (["solve", "m.gsm", "--gap", "--quiet"], "`--gap` needs a value"),
        (["solve", "m.gsm", "-5"], "unknown option `-5`"),
    ],
)
def test_values_that_begin_with_a_minus(gsdsl: Callable[..., Any], arguments: list[str], words: str) -> None:
    done = gsdsl(*arguments)
    assert (done.code, words in done.err) == (2, True), done.err
