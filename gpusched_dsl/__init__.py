"""gsdsl: a declarative modelling language and solver-agnostic compiler for scheduling jobs on GPU clusters."""

from pathlib import Path as _Path

__version__ = "0.1.0"

# backends/, grammar/ and models/ lie beside this folder in the repository. Wheels and editable installs map them into
# the package (pyproject.toml); in a plain checkout the symbolic links in this folder do. A checkout without links is
# helped here.
_here = _Path(__file__).resolve().parent
if not (_here / "backends").is_dir() and (_here.parent / "backends" / "__init__.py").is_file():
    __path__.append(str(_here.parent))
