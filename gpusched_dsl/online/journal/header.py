"""The inputs of a run, as the header of its journal; comparison of two headers, and their differences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gpusched_dsl.language.scenarios.calendars import START
from gpusched_dsl.online.journal.chain import Json
from gpusched_dsl.version import __version__

# In the journal, but a run may continue with other values: every recorded step is compared with the run.
MAY_DIFFER = ("gsdsl", "versions", "created")
_SHOWN = 60  # characters of a value


def header_of(
    *,
    online: str,
    model: str,
    scenario: str | None,
    method: str,
    inputs_sha256: Mapping[str, str],
    seed: int,
    settings: Mapping[str, Json] | None = None,
    options: Mapping[str, Json] | None = None,
    live: bool = False,
    start: str | None = None,
) -> dict[str, Json]:
    """Return the header of a run's journal. `settings` are external (`--set`); `options` are those of the method."""
    return {
        "gsdsl": __version__,
        "online": online,
        "model": model,
        "scenario": scenario,
        "method": method,
        "inputs_sha256": dict(inputs_sha256),
        "seed": seed,
        "settings": dict(settings or {}),
        "options": dict(options or {}),
        "live": live,
        "start": start,
    }


def differences(recorded: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    """One line for each entry that differs, nested ones by their path; empty for the same run."""
    return list(_differences("", _without(recorded), _without(now)))


def _without(header: Mapping[str, Json]) -> dict[str, Json]:
    found = {key: value for key, value in header.items() if key not in MAY_DIFFER}
    if isinstance(settings := found.get("settings"), dict) and START in settings:
        found["settings"] = {**settings, START: _moment(settings[START])}
    return {**found, "start": _moment(found["start"])} if "start" in found else found


def _moment(start: Json) -> Json:
    """Return a date with an offset in UTC: the same moment in another zone is the same start."""
    try:
        date = datetime.fromisoformat(start) if isinstance(start, str) else None
    except ValueError:
        return start
    return start if date is None or date.tzinfo is None else date.astimezone(UTC).isoformat()


def _differences(at: str, recorded: Json, now: Json) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in [*recorded, *(k for k in now if k not in recorded)]:
            name = f"{at}: `{key}`" if at else f"`{key}`"
            if key not in now:
                yield f"{name} is {_show(recorded[key])} in the journal, but not given now"
            elif key not in recorded:
                yield f"{name} is not in the journal, but {_show(now[key])} now"
            else:
                yield from _differences(name, recorded[key], now[key])
    elif recorded != now or isinstance(recorded, bool) is not isinstance(now, bool):
        yield f"{at} is {_show(recorded)} in the journal, {_show(now)} now"


def _show(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and len(value) == 64 and all(c in "0123456789abcdef" for c in value):
        return f"{value[:12]}..."  # a SHA-256
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
