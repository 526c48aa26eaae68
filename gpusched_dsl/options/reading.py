"""Values of options as texts: each function returns the value, or raises ValueError with the reason."""

from __future__ import annotations

import math
import re

# Largest values, the same for the command line, Python, texts and requests.
MOST_THREADS = 1024  # no machine has more cores, and a solver starts all of them
MOST_WORKERS = 4096  # of a cluster
LARGEST_SEED = 2**31 - 1  # that every solver accepts
# The names by which solvers call their number of threads.
THREAD_OPTIONS = frozenset({"threads", "num_workers", "num_search_workers", "lp/threads", "parallel/maxnthreads"})
MOST_SEEDS = 100_000

# Units of durations as people write them: `90`, `90s`, `5m`, `1h30m`, `11.7[h]`.
SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0}
SHORT_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "%": 0.01}  # in one word
_PART = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) ?(\[[a-z]+\]|[a-z]+)", re.ASCII)
_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-z%]*)\s*", re.ASCII)
_PARTS = re.compile(rf"(?:{_PART.pattern} ?)+", re.ASCII)


def path(text: str) -> str:
    if not text:
        raise ValueError("the name of a file is empty")
    return text


def names(text: str) -> tuple[str, ...]:
    parts = tuple(name.strip() for name in text.split(","))
    if not all(parts):
        raise ValueError(f"`{text}` is not a list of names, such as highs,Greedy")
    if len(set(parts)) < len(parts):
        duplicate = next(name for name in parts if parts.count(name) > 1)
        raise ValueError(f"`{duplicate}` is repeated")
    return parts


def seeds(text: str) -> tuple[int, ...]:
    """Read seeds and ranges of seeds: `1,2,3` or `1..10`; a repeated seed counts once."""
    return tuple(dict.fromkeys(seed for part in text.split(",") for seed in _seed_range(part)))


def _seed_range(text: str) -> range:
    low, dots, high = text.partition("..")
    first = nonnegative_integer(low)
    last = nonnegative_integer(high) if dots else first
    if last < first:
        raise ValueError(f"`{text}` has no seeds: the last one is smaller than the first")
    if last - first >= MOST_SEEDS:
        raise ValueError(f"`{text}` has more than {MOST_SEEDS} seeds")
    return range(first, last + 1)


def count_of_at_least_two(text: str) -> int:
    count = nonnegative_integer(text)
    if count < 2:
        raise ValueError(f"`{text}` must be at least 2: the best solution counts as one")
    return count


def report_target(text: str) -> tuple[str, str]:
    """Read the format of a report and its file: `markdown=summary.md`."""
    name, equals, file = text.partition("=")
    if not equals or not name.strip() or not file:
        raise ValueError(f"`{text}` does not name a format and a file: write NAME=OUT")
    if file == "-":
        raise ValueError(f"`{text}`: reports of other packages need a file")
    return name.strip(), file


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"`{text}` is not a number")
    return value


def duration(text: str) -> float:
    """Read a duration in seconds: `90`, `90s`, `5m`, `1h30m`, `5[min]`."""
    if has_unit(text):
        return seconds_of(text)
    if text.startswith("-") and has_unit(text[1:]):
        raise ValueError(f"`{text}` is negative")
    try:
        seconds = number(text)
    except ValueError:
        raise ValueError(f"`{text}` is not a duration, such as 90, 90s, 5m or 1h30m") from None
    if seconds < 0:
        raise ValueError(f"`{text}` is negative")
    return seconds


def fraction(text: str) -> float:
    """Read a fraction: `0.01` or `1%`."""
    share = text.strip()
    is_percent = share.endswith("%")
    try:
        value = number(share.removesuffix("%"))
    except ValueError:
        raise ValueError(f"`{share}` is not a number") from None
    if value < 0:
        raise ValueError(f"`{share}` is negative")
    return value / 100 if is_percent else value


def time_of_run(text: str) -> str:
    """Check a time of a run: `11.7` in the unit of its clock, or `11.7h`, or a date, which the run converts."""
    if not looks_like_date(text):
        duration(text)
    return text.strip()


def share_of_days(text: str) -> float:
    """Read a share of days: above 0, at most 1."""
    if not 0 < (value := fraction(text)) <= 1:
        raise ValueError(f"`{text}` is not above 0 and at most 1 (100%)")
    return value


def positive_numbers(text: str) -> tuple[float, ...]:
    return tuple(positive_number(part) for part in text.split(","))


def positive_number(text: str) -> float:
    if (value := number(text)) <= 0:
        raise ValueError(f"`{text}` is not positive")
    return value


def nonnegative_integer(text: str) -> int:
    value = number(text)
    if not value.is_integer() or value < 0:
        raise ValueError(f"`{text}` is not a nonnegative integer")
    return int(value)


def sample_count(text: str) -> int:
    if (value := nonnegative_integer(text)) < 1:
        raise ValueError(f"`{text}` is less than 1")
    return value


def changed_values(text: str) -> dict[str, float | str]:
    """Read `NAME=VALUE,...`: numbers, or texts such as the name of a node type."""
    values: dict[str, float | str] = {}
    for part in text.split(","):
        name, sign, value = (word.strip() for word in part.partition("="))
        if not (name and sign and value):
            raise ValueError(f"`{part.strip()}` is not of the form NAME=VALUE")
        try:
            number = float(value)
        except ValueError:
            values[name] = value
        else:
            values[name] = int(number) if number.is_integer() else number
    return values


def port_number(text: str) -> int:
    if (value := nonnegative_integer(text)) > 65535:
        raise ValueError(f"`{text}` is no port: ports are at most 65535")
    return value


def listening_address(text: str) -> tuple[str, int]:
    """Host and port of `[HOST:]PORT`; without a host only this machine can reach it."""
    host, _, port = text.rpartition(":")
    return host.strip("[]") or "127.0.0.1", port_number(port)


def fold_count(text: str) -> int:
    if (value := nonnegative_integer(text)) < 2:
        raise ValueError(f"`{text}` is less than 2")
    return value


def thread_count(text: str) -> int:
    return _from_one(text, MOST_THREADS)


def worker_count(text: str) -> int:
    return _from_one(text, MOST_WORKERS)


def _from_one(text: str, most: int) -> int:
    if not 1 <= (value := nonnegative_integer(text)) <= most:
        raise ValueError(f"`{text}` is not from 1 to {most}")
    return value


# --- durations and dates ---------------------------------------------------------------------------------------------


def has_unit(text: str) -> bool:
    """Whether a text is a sequence of numbers with units (known or not), such as `1h30m`."""
    return _PARTS.fullmatch(text.strip()) is not None


def seconds_of(text: str) -> float:
    """Return a duration with units in seconds; raise ValueError with the reason."""
    total = 0.0
    for amount, unit in _PART.findall(text):
        seconds = SECONDS.get(unit.strip("[]"))
        if seconds is None:
            raise ValueError(f"`{unit}` in `{text}` is not a unit of time: write s, m, h or d")
        total += float(amount) * seconds
    return total


def looks_like_date(text: str) -> bool:
    """Whether a text begins as a date does, `2026-10-...`: neither a number nor a duration does."""
    first, _, rest = text.strip().partition("-")
    return bool(first.isdigit() and rest[:1].isdigit())


def number_and_unit(text: str) -> tuple[float, str] | None:
    """Return the number and the word of a text such as `1.5 h` or `2%`; None for any other text."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else (float(found[1]), found[2])
