"""The backends that tests run, by what they support."""

from __future__ import annotations

from gsdsl_backends.registry import backend, backend_names

# Those that end with a proof; a local search only finds points (`tests/backends/test_search.py`).
ALL = tuple(name for name in backend_names() if backend(name).capabilities.proves)
# Those that take any continuous columns, and columns without bounds.
GENERAL = tuple(name for name in ALL if backend(name).capabilities.continuous)
