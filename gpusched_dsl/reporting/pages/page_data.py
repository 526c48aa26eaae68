"""The data of a page as JSON within its HTML."""

from __future__ import annotations

import json
from typing import Any

# Within a script, "<" could end it or begin a comment; the two separators are no white space in JSON.
ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def script_json(value: Any) -> str:
    """Return JSON without characters that have a meaning in HTML; raise ValueError for NaN and infinite numbers."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPES)
