"""Loads the scripts of the shipped data as modules, which belong to no package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

MODELS = Path(__file__).resolve().parents[1] / "models"


def script(file: Path) -> ModuleType:
    """A script of the folder of models as a module."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module
