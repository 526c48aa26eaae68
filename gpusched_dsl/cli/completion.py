"""`gsdsl completion`: scripts for shells, and the candidates that they ask for while the user types.

A script calls `gsdsl --complete WORD...` with the words of the command line up to the cursor. Each line of the answer
is a candidate, with a description after a tab; `:files` requests names of files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.commands import COMMANDS, build_parser
from gpusched_dsl.cli.arguments.parser import Parser
from gpusched_dsl.cli.output import Output
from gpusched_dsl.cli.terminal import harmless
from gpusched_dsl.language.source_files import LIBRARY_PREFIX, library_files
from gpusched_dsl.options.table import by_name

if TYPE_CHECKING:
    from gpusched_dsl.language.workspace import Workspace

FILES = ":files"
BASH = """\
# gsdsl completion for bash:  eval "$(gsdsl completion bash)"  in ~/.bashrc
_gsdsl() {
  local line candidates=()
  COMPREPLY=()
  local words=("${COMP_WORDS[@]:1:COMP_CWORD-1}") typed="${COMP_WORDS[COMP_CWORD]}"
  if declare -F _get_comp_words_by_ref >/dev/null; then
    local cur cword; local -a all
    _get_comp_words_by_ref -n := -w all -i cword -c cur
    words=("${all[@]:1:cword-1}"); typed="$cur"
  fi
  while IFS= read -r line; do
    if [[ "$line" == ":files" ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do candidates+=("$line"); done < <(compgen -f -- "$typed")
    else
      candidates+=("${line%%$'\\t'*}")
    fi
  done < <(gsdsl --complete "${words[@]}" "$typed" 2>/dev/null)
  COMPREPLY=("${candidates[@]}")
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$typed"; fi
}
complete -F _gsdsl gsdsl
"""

ZSH = """\
#compdef gsdsl
# gsdsl completion for zsh:  eval "$(gsdsl completion zsh)"  in ~/.zshrc, after compinit
_gsdsl() {
  local line files=0
  local -a described
  while IFS= read -r line; do
    if [[ "$line" == ":files" ]]; then
      files=1
    else
      described+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    fi
  done < <(gsdsl --complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( ${#described} )) && _describe 'gsdsl' described
  (( files )) && _files
}
compdef _gsdsl gsdsl
"""

FISH = """\
# gsdsl completion for fish:  gsdsl completion fish > ~/.config/fish/completions/gsdsl.fish
function __gsdsl_complete
    set -l words (commandline -opc)[2..]
    set -l typed (commandline -ct)
    for line in (gsdsl --complete $words "$typed" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$typed"
        else
            echo $line
        end
    end
end
complete -c gsdsl -f -a '(__gsdsl_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def run(options: argparse.Namespace, output: Output) -> int:
    print(SCRIPTS[options.shell], end="")
    return exits.OK


def print_candidates(words: Sequence[str]) -> int:
    """Print the candidates for the last word; nothing if there are none, or in case of any error."""
    *before, typed = words or [""]
    try:
        for name, about in candidates(before, typed):
            print(harmless(f"{name}\t{about}" if about else name))
    except Exception:  # a half-typed line may be anything; a shell must not show a traceback
        return exits.OK
    return exits.OK


def candidates(before: Sequence[str], typed: str) -> Iterator[tuple[str, str]]:
    """Yield the candidates for a word with their descriptions, given the words before it."""
    parser, commands = build_parser()
    command = next((word for word in before if word in commands), None)
    active = parser if command is None else commands[command]
    option = _option_of_value(active, before)
    if option is not None:
        found = _values(option, command, before, typed)
    elif typed.startswith("-"):
        found = _options(active)
    elif command is None:
        found = ((name, summary) for name, summary in COMMANDS.items())
    else:
        found = _positional(active, command, typed)
    yield from ((name, about) for name, about in found if name == FILES or name.startswith(typed))


def _option_of_value(parser: Parser, before: Sequence[str]) -> argparse.Action | None:
    """Return the option whose value follows, if the last word is an option with a value."""
    for action in parser._actions:
        if before and before[-1] in action.option_strings:
            return None if action.nargs == 0 else action
    return None


def _options(parser: Parser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        for name in action.option_strings:
            if name.startswith("--"):
                yield name, (action.help or "").replace("%%", "%")


def _values(
    option: argparse.Action, command: str | None, before: Sequence[str], typed: str
) -> Iterator[tuple[str, str]]:
    if option.choices:
        yield from ((str(choice), "") for choice in option.choices)
    elif command is not None and option.dest in (own := by_name(command, "cli")) and own[option.dest].kind.is_file:
        yield FILES, ""
    elif (names := _NAMES.get(option.dest)) is not None:
        head, comma, _ = typed.rpartition(",")  # lists: `highs,Gre`
        yield from ((f"{head}{comma}{name}", "") for name in names(_file(before)))


def _positional(parser: Parser, command: str, typed: str) -> Iterator[tuple[str, str]]:
    places = [action for action in parser._actions if not action.option_strings]
    for action in places:
        if action.choices:
            yield from ((str(choice), "") for choice in action.choices)
    if any(action.dest in ("file", "files", "table", "folder") for action in places):
        yield FILES, ""
        if typed.startswith(LIBRARY_PREFIX[0]) and command not in ("trace", "profile"):
            yield from ((LIBRARY_PREFIX + file, "") for file in library_files(LIBRARY_PREFIX))
    if command == "explain" and typed.upper().startswith("G"):
        from gpusched_dsl.language.diagnostics.codes import CODES

        yield from CODES.items()


# --- names in the file -----------------------------------------------------------------------------------------------


def _file(before: Sequence[str]) -> str | None:
    return next((word for word in before if word.endswith(".gsm") or word.startswith(LIBRARY_PREFIX)), None)


def _scenarios(file: str | None) -> list[str]:
    return [] if file is None else list(_workspace(file).scenarios)


def _onlines(file: str | None) -> list[str]:
    return [] if file is None else list(_workspace(file).onlines)


def _models(file: str | None) -> list[str]:
    return [] if file is None else list(_workspace(file).models)


def _policies(file: str | None) -> list[str]:
    from gpusched_dsl.language.workspace import Workspace
    from gpusched_dsl.policies.library import policies_for, policy_names

    if file is None:
        return sorted(policy_names(Workspace(None)))
    workspace = _workspace(file)
    return list(dict.fromkeys(p.name.text for model in workspace.models for _, p in policies_for(workspace, model)))


def _solvers(file: str | None) -> list[str]:
    from gsdsl_backends.registry import solver_names

    return list(solver_names())


def _methods(file: str | None) -> list[str]:
    return [*_solvers(file), *_policies(file)]


def _workspace(file: str) -> Workspace:
    from gpusched_dsl.language.diagnostics.errors import Diagnostics
    from gpusched_dsl.language.workspace import load_workspace

    return load_workspace(Path(file), Diagnostics())


_NAMES: dict[str, Callable[[str | None], list[str]]] = {
    "scenario": _scenarios,
    "online": _onlines,
    "model": _models,
    "policy": _policies,
    "judge": _solvers,
    "method": _methods,
    "methods": _methods,
    "fallback": _methods,
}
