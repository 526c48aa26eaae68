"""The backends that tests run, by what they support."""

from __future__ import annotations

from gpusched_dsl.backends.registry import backend, backend_names

ALL = backend_names()
# Those that take any continuous columns, and columns without bounds.
GENERAL = tuple(name for name in ALL if backend(name).capabilities.continuous)
