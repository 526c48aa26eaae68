"""One option: its name, kind, default and meaning, the verbs and doors that have it, and what it needs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gpusched_dsl.options.kinds import Kind

# The doors by which a user may give an option:
#   cli        the command line                         campaign   an option of a method in a campaign
#   python     an argument of the method of `Model`     test       an option of a method in a `test` block
#              or the function of the name of the verb  assistant  an argument of a tool for assistants
#   problem    an argument of `solve` for a compiled    http       a field of the request for a session
#   notebook   the line `%gsm VERB`                                 problem
DOORS: Final = ("cli", "python", "problem", "notebook", "campaign", "test", "assistant", "http")
COMMAND: Final = "cli"
DOCUMENT: Final = "cli notebook"
USUAL: Final = "cli python notebook"
SOLVING: Final = "cli python problem notebook"


class OptionRow(NamedTuple):
    """A row of the table.

    `verbs` are the commands and methods that have it, and `doors` where it may be given, separated by spaces. `absent`
    says why a door, such as a campaign, refuses it. None is a value if it is the default and no value is `required`.

    `flag` is its name on the command line, by default `--NAME`, or `--no-NAME` for a flag that is on by default;
    `short` has further names. With a `const`, its value may be left out. A `place` makes it an argument without a
    name: `1`, `?` or `+` of them. Of the options with the same `one_of` only one may be given; `group` is a heading of
    the help.

    `title` is its name in messages. It has no effect without the option `needs`, and excludes those of `excludes`, each
    with the reason. `with_proof` and `without_proof`: why methods that prove results, and those that do not, refuse it.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    verbs: str
    doors: str = USUAL
    short: str = ""
    flag: str = ""
    place: str = ""
    metavar: str | None = None
    required: bool = False
    repeated: bool = False
    const: Any = None
    one_of: str = ""
    group: str = ""
    title: str = ""
    needs: str = ""
    excludes: Mapping[str, str] = {}
    with_proof: str = ""
    without_proof: str = ""
    absent: Mapping[str, str] = {}

    def on(self, verbs: str, help: str | None = None, **changes: Any) -> OptionRow:
        """Return the row of other verbs, with another meaning."""
        return self._replace(verbs=verbs, help=self.help if help is None else help, **changes)

    @property
    def optional(self) -> bool:
        return self.default is None and not self.required and not self.place

    @property
    def flags(self) -> tuple[str, ...]:
        """Return its names on the command line."""
        prefix = "--no-" if self.default is True else "--"
        long = self.flag or prefix + self.name.replace("_", "-")
        short = self.short.split()
        return (*(n for n in short if n[1] != "-"), long, *(n for n in short if n[1] == "-"))

    @property
    def shown_help(self) -> str:
        """Return the meaning for the command line, with the default unless it says it."""
        value, text = self.default, self.help + self.kind.written
        if self.kind.type is bool or value is None or value in ((), "") or "default" in text:
            return text
        return f"{text} (default: {value:g})" if isinstance(value, float) else f"{text} (default: {value})"

    @property
    def must_be(self) -> str:
        """Return what a value in Python must be, as the beginning of a sentence."""
        title = self.title or f"`{self.name}`"
        return f"{title} {self.kind.words}" if " must " in title else f"{title} must be {self.kind.words}"
