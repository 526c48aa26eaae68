"""What a reader leaves out or does not obey, once for each reason, with the first objects that it concerns."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class LeftOut:
    """Reasons by the kind of object, with the names of the objects."""

    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, kind: str, name: str, reason: str) -> None:
        self.found.setdefault((kind, reason), []).append(name)

    def texts(self) -> list[str]:
        """`3 jobs (7, ...): reason`."""
        return [
            f"{len(names):,} {kind}{'s' if len(names) > 1 else ''}{_first(names)}: {reason}"
            for (kind, reason), names in self.found.items()
        ]


def _first(names: list[str]) -> str:
    first = next((name for name in names if name), "")
    if not first:
        return ""
    return f" ({first}, ...)" if len(names) > 1 else f" ({first})"
