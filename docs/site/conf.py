"""Configuration of the documentation site for Sphinx; `build.py` collects the pages and runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from navigation import toctrees  # noqa: E402

from gpusched_dsl.language.highlighting.pygments_lexer import GsmLexer  # noqa: E402
from gpusched_dsl.version import __version__  # noqa: E402

project = "gsdsl"
author = "the gsdsl authors"
copyright = "the gsdsl authors, Apache-2.0"
release = version = __version__
language = "en"  # the British catalogue of Sphinx lacks texts of the search page

extensions = ["myst_parser", "mathml"]
source_suffix = {".md": "markdown"}
root_doc = "index"
needs_sphinx = "8.1"
nitpicky = True
html_math_renderer = "mathml"
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # JSON on pages leaves out parts by `...`

myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
myst_enable_extensions = ["attrs_inline"]

html_theme = "furo"
html_title = f"gsdsl {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f99", "color-brand-content": "#1f5f99"},
    "dark_css_variables": {"color-brand-primary": "#7fb8ec", "color-brand-content": "#7fb8ec"},
    "top_of_page_buttons": [],
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def setup(app):  # type: ignore[no-untyped-def]
    app.add_lexer("gsm", GsmLexer)
    for name in ("csv", "lark", "minizinc"):  # no lexers of Pygments
        app.add_lexer(name, TextLexer)
    app.connect("source-read", lambda app, name, source: source.__setitem__(0, source[0] + toctrees(name)))
