"""`python -m gpusched_dsl.reporting.mathematics MODELS TARGET`: a page of mathematics for each file of models."""

from __future__ import annotations

import sys
from pathlib import Path

from gpusched_dsl.reporting.mathematics.pages import write_pages

if __name__ == "__main__":
    write_pages(Path(sys.argv[1]), Path(sys.argv[2]))
