"""Where a command's words go: results to standard output, findings and progress to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic


class Output:
    """The output of one command.

    Findings are told as they come as text, or all together as one JSON document at the end (`finish`): on standard
    error, or on standard output when the command has no other output there (`findings_are_output`).
    """

    def __init__(
        self, *, diagnostics: str = "text", color: str = "auto", quiet: bool = False, findings_are_output: bool = False
    ) -> None:
        self.as_json = diagnostics == "json"
        self.color = color
        self.quiet = quiet
        self.findings_are_output = findings_are_output
        self._silent = self.as_json and findings_are_output
        self._collected: list[Diagnostic] = []
        self._told: set[tuple[str, ...]] = set()
        self.errors = 0
        self.warnings = 0

    # --- results -----------------------------------------------------------------------------------------------------

    def say(self, text: str = "") -> None:
        """A line of the result; nothing when quiet, or when standard output is for findings as JSON."""
        if not self.quiet and not self._silent:
            print(text)

    def only_findings(self) -> None:
        """Keep standard output free of words: the command writes a document there."""
        self._silent = True

    def flush(self) -> None:
        sys.stdout.flush()

    @property
    def is_terminal(self) -> bool:
        return _is_terminal(sys.stdout)

    def console(self) -> Console:
        """Standard output through rich."""
        return _console(sys.stdout, self.colored(sys.stdout))

    def error_console(self) -> Console:
        return _console(sys.stderr, self.colored(sys.stderr))

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and not self.as_json and _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"

    def colored(self, stream: TextIO) -> bool:
        if self.color != "auto":
            return self.color == "always"
        return _is_terminal(stream) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def styled(self, text: str, style: str) -> str:
        """A text for standard output in a colour (`31` is red), where there are colours."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.colored(sys.stdout) else text

    # --- findings ----------------------------------------------------------------------------------------------------

    def report(self, diagnostics: Iterable[Diagnostic], *, counted: bool = True) -> None:
        """Print diagnostics, each once; skip warnings if quiet. `counted` adds their number at the end."""
        from gpusched_dsl.language.diagnostics.diagnostic import Severity

        new = list({_key(d): d for d in diagnostics if _key(d) not in self._told}.values())
        self._told.update(map(_key, new))
        self.errors += sum(d.severity is Severity.ERROR for d in new)
        self.warnings += sum(d.severity is Severity.WARNING for d in new)
        if self.quiet:
            new = [d for d in new if d.severity is Severity.ERROR]
        if self.as_json:
            self._collected.extend(new)
        elif new:
            from gpusched_dsl.language.diagnostics.render import render_text

            sys.stdout.flush()  # so that both streams come in order where they go to the same place
            text = render_text(new, color=self.colored(sys.stderr)).rstrip("\n")
            print(text if counted else text.rpartition("\n\n")[0] + "\n", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print a remark about the result, such as a written file; nothing if quiet or for JSON."""
        if not self.quiet and not self.as_json:
            sys.stdout.flush()
            print(text, file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Write the collected JSON and flush."""
        if self.as_json:
            from gpusched_dsl.language.diagnostics.render import render_json

            stream = sys.stdout if self.findings_are_output else sys.stderr
            print(render_json(self._collected).rstrip("\n"), file=stream)
            self._collected = []
        sys.stdout.flush()
        sys.stderr.flush()


def _key(diagnostic: Diagnostic) -> tuple[str, ...]:
    """The same finding in a text that was read twice, for two files that import it, has the same key."""
    return diagnostic.code, diagnostic.message, str(diagnostic.primary), *diagnostic.notes


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _console(stream: TextIO, colored: bool) -> Console:
    from rich.console import Console

    return Console(
        file=stream,
        force_terminal=True if colored else None,
        no_color=not colored,
        highlight=False,
        markup=False,
        emoji=False,
    )
