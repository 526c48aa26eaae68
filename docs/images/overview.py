"""`python docs/images/overview.py`: draw overview.svg, the picture of the README, from a run of its example.

On the left is the model, on the right a diagnostic and the solution, as `gsdsl` prints them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.table import Table
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text
from rich.theme import Theme

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
WIDTH = 184
STYLES = Theme({"gsm.keyword": "bold magenta", "gsm.unit": "cyan", "gsm.text": "green", "gsm.number": "yellow"})


class Gsm(RegexHighlighter):
    base_style = "gsm."
    highlights = [  # noqa: RUF012
        r"(?P<keyword>\b(model|scenario|for|set|param|let|var|binary|integer|in|default|minimize|constraint|placement|table|sum)\b)",
        r"(?P<unit>(?<=in )\$?(/?h|min|\$)(/h)?(?=[ ;>])|\[[$/h]+\])",
        r"(?P<number>(?<![\w])\d+(\.\d+)?\b)",
        r'(?P<text>"[^"]*")',
    ]


def main() -> int:
    (HERE / "overview.svg").write_text(drawn(), encoding="utf-8")
    return 0


def drawn() -> str:
    """The picture as SVG, without the web fonts that it would load."""
    model = example()
    left = Gsm()(Text(model.rstrip()))
    right = Text("\n").join(
        [
            Text("$ gsdsl check assign.gsm        # with price[j] in line 9", style="bold"),
            printed("check", model.replace("price[n] * work", "price[j] * work")),
            Text("$ gsdsl solve assign.gsm", style="bold"),
            printed("solve", model),
        ]
    )
    console = Console(record=True, width=WIDTH, file=StringIO(), theme=STYLES, force_terminal=True)
    columns = Table.grid(padding=(0, 3))
    columns.add_column(no_wrap=True)
    columns.add_row(left, right)
    console.print(columns)
    svg = console.export_svg(title="assign.gsm", theme=DIMMED_MONOKAI, unique_id="overview")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def example() -> str:
    """The model in the README."""
    return README.read_text(encoding="utf-8").partition("```gsm\n")[2].partition("```")[0]


def printed(command: str, model: str) -> Text:
    """The output of a command in colours, without the lines that say how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "assign.gsm").write_text(model, encoding="utf-8")
        arguments = [sys.executable, "-m", "gpusched_dsl", command, "assign.gsm", "--color", "always"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return Text.from_ansi("\n".join(line for line in lines if not re.match(r"(build|solve) ", line)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
