"""Models in notebooks of Jupyter and marimo: `%load_ext gpusched_dsl` adds `%%gsm` and `%gsm` to Jupyter and IPython.

`gsm`, `page` and `progress` are functions for every notebook, also for marimo, which has no magics.
"""

from gsdsl_notebook.cells import gsm as gsm
from gsdsl_notebook.frames import page as page
from gsdsl_notebook.progress import NotebookProgress as NotebookProgress
from gsdsl_notebook.progress import progress as progress

__all__ = ["NotebookProgress", "gsm", "page", "progress"]
