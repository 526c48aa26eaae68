"""The scripts beside the data files, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

DATA = Path(__file__).resolve().parents[2] / "models" / "data"


def script(path: str) -> ModuleType:
    """The script at this path under models/data."""
    file = DATA / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module
