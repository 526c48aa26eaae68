"""The output of a command: results on standard output, diagnostics and progress on standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from gpusched_dsl.cli.terminal import TerminalStream, harmless

if TYPE_CHECKING:
    from rich.console import Console

    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_HEAD = re.compile(r" *(?:\S+(?: \S+)* {2,})?")


class Output:
    """The output of one command.

    Diagnostics are printed immediately as text, or together as one JSON document at the end (`finish`): on standard
    error, or on standard output if the command has no other output there (`diagnostics_are_output`).
    """

    def __init__(
        self,
        *,
        diagnostics: str = "text",
        color: str = "auto",
        quiet: bool = False,
        diagnostics_are_output: bool = False,
    ) -> None:
        self.as_json = diagnostics == "json"
        self.color = color
        self.quiet = quiet
        self.diagnostics_are_output = diagnostics_are_output
        self._silent = self.as_json and diagnostics_are_output
        self._collected: list[Diagnostic] = []
        self._reported: set[tuple[str, ...]] = set()
        self.errors = 0
        self.warnings = 0

    # --- results -----------------------------------------------------------------------------------------------------

    def say(self, text: str = "") -> None:
        """Print a line of the result; nothing if quiet, or if standard output is for diagnostics as JSON."""
        if not self.quiet and not self._silent:
            print(harmless(text))

    def say_document(self, text: str) -> None:
        """Print a line of the result as `say` does, but byte by byte unless standard output is a terminal."""
        if not self.quiet and not self._silent:
            print(text)

    def say_wrapped(self, text: str) -> None:
        """Print a line of prose, or of a name and a text; on a terminal, lines of its width, aligned below the text."""
        self.say("\n".join(_wrap(text, _width(sys.stdout))) if self.is_terminal else text)

    def only_diagnostics(self) -> None:
        """Print no text on standard output: the command writes a document there."""
        self._silent = True

    def flush(self) -> None:
        sys.stdout.flush()

    @property
    def is_terminal(self) -> bool:
        return _is_terminal(sys.stdout)

    def console(self) -> Console:
        """Return a rich console for standard output, which moves the cursor: what it prints must be `harmless`."""
        return _console(sys.stdout, self.has_colors(sys.stdout))

    def error_console(self) -> Console:
        return _console(sys.stderr, self.has_colors(sys.stderr))

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and not self.as_json and _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"

    def has_colors(self, stream: TextIO) -> bool:
        if self.color != "auto":
            return self.color == "always"
        return _is_terminal(stream) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def style(self, text: str, style: str) -> str:
        """Return a text for standard output in a style (`31` is red) if colours are on."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.has_colors(sys.stdout) else text

    # --- diagnostics -------------------------------------------------------------------------------------------------

    def report(self, diagnostics: Iterable[Diagnostic], *, counted: bool = True) -> None:
        """Print diagnostics, each once; skip warnings if quiet. `counted` adds their number at the end."""
        from gpusched_dsl.language.diagnostics.diagnostic import Severity

        new = list({_key(d): d for d in diagnostics if _key(d) not in self._reported}.values())
        self._reported.update(map(_key, new))
        self.errors += sum(d.severity is Severity.ERROR for d in new)
        self.warnings += sum(d.severity is Severity.WARNING for d in new)
        if self.quiet:
            new = [d for d in new if d.severity is Severity.ERROR]
        if self.as_json:
            self._collected.extend(new)
        elif new:
            from gpusched_dsl.language.diagnostics.render import render_text

            sys.stdout.flush()  # keeps the order if both streams have the same target
            text = harmless(render_text(new, color=self.has_colors(sys.stderr)).rstrip("\n"))
            print(text if counted else text.rpartition("\n\n")[0] + "\n", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print a remark about the result, such as a written file; nothing if quiet or for JSON."""
        if not self.quiet and not self.as_json:
            sys.stdout.flush()
            text = harmless(text)
            lines = _wrap(text, _width(sys.stderr)) if _is_terminal(sys.stderr) else [text]
            print("\n".join(lines), file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Write the collected JSON and flush."""
        if self.as_json:
            from gpusched_dsl.language.diagnostics.render import render_json

            stream = sys.stdout if self.diagnostics_are_output else sys.stderr
            print(render_json(self._collected).rstrip("\n"), file=stream)
            self._collected = []
        sys.stdout.flush()
        sys.stderr.flush()


def _key(diagnostic: Diagnostic) -> tuple[str, ...]:
    """Return a key; it is equal for the same diagnostic in a text that two files import."""
    return diagnostic.code, diagnostic.message, str(diagnostic.primary), *diagnostic.notes


def _width(stream: TextIO) -> int:
    """Return the number of characters in a line of a terminal."""
    return _console(stream, colored=False).width


def _wrap(text: str, width: int) -> list[str]:
    """Break a line between words; the parts begin below the second column of `name   text`, or below the text."""
    codes = _STYLE.findall(text)
    if len(text) - sum(map(len, codes)) <= width:
        return [text]
    head = _HEAD.match(_STYLE.sub("", text))
    indent = len(head[0]) if head is not None else 0
    if indent > width // 2:
        indent = len(text) - len(text.lstrip())
    words = re.findall(r" *[^ ]+", text)
    lines = [""]
    for word in words:
        if lines[-1].strip() and len(_STYLE.sub("", lines[-1] + word)) > width:
            lines.append(" " * indent + word.lstrip())
        else:
            lines[-1] += word
    return lines


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _console(stream: TextIO, colored: bool) -> Console:
    from rich.console import Console

    return Console(
        file=stream.inner if isinstance(stream, TerminalStream) else stream,
        force_terminal=True if colored else None,
        no_color=not colored,
        highlight=False,
        markup=False,
        emoji=False,
    )
