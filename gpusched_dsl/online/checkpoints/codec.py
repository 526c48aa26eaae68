"""The state of a run as bytes and back: JSON with arrays behind it, of a fixed list of classes.

Nothing of a file is executed: a class that is not in the list cannot be read, and no code is called but constructors of
these. Objects that occur twice are one object again, because sums of spans depend on it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.online.data.more_slots import KnownSlots
from gpusched_dsl.online.data.past import CurrentPlan, ExecutedTime, KeptValues, Past
from gpusched_dsl.online.data.policy_memory import PolicyMemory
from gpusched_dsl.online.journal.chain import MOST_EXPANDED
from gpusched_dsl.online.live.seen_names import SeenNames
from gpusched_dsl.online.loops.controller_numbers import ControllerNumbers
from gpusched_dsl.online.simulation.job_parts import JobParts
from gpusched_dsl.online.simulation.ledger import Ledger
from gpusched_dsl.online.simulation.world import World

MAGIC: Final = b"gsdsl state 1\n"  # another number: another layout of the file
CLASSES: Final[Mapping[str, type]] = {
    kind.__name__: kind
    for kind in (
        World, Ledger, JobParts, PolicyMemory, CurrentPlan, VariableValues, Past, KeptValues, ExecutedTime, KnownSlots,
        SeenNames, ControllerNumbers,
    )
}  # fmt: skip
TYPES: Final = ("<f8", "<i8", "<u8", "|b1")  # of arrays
_DIGEST: Final = 32  # bytes


class NotEncodable(Exception):
    """A value has no form in a state: the run then has no states. The text says which."""


class DamagedState(Exception):
    """A state differs from what was written; the text has the evidence."""


def encode(value: Any, variables: Set[str]) -> bytes:
    """Return a value as bytes; of plans only the values of some `variables`. Raises NotEncodable."""
    encoder = _Encoder(variables)
    tree = encoder.plain(value)
    places, blocks, at = [], [], 0
    for array in encoder.arrays:
        block = np.ascontiguousarray(array).tobytes()
        places.append((array.dtype.str, array.shape, at, len(block)))
        blocks.append(block)
        at += len(block)
    text = json.dumps({"value": tree, "arrays": places}, separators=(",", ":"), check_circular=False).encode()
    return len(text).to_bytes(8, "big") + text + b"".join(blocks)


def pack(about: Mapping[str, Any], content: bytes) -> bytes:
    """Return the content of a file, with what it is `about`: it can be recognised, and every change of it is found."""
    packed = json.dumps(about).encode() + b"\n" + zlib.compress(content, 1)
    return MAGIC + sha256(packed).digest() + packed


def unpack(stored: bytes) -> tuple[dict[str, Any], bytes]:
    """Return what a file is about, and its content. Raises DamagedState."""
    start = len(MAGIC) + _DIGEST
    if not stored.startswith(MAGIC):
        raise DamagedState("it is no state of this version")
    if sha256(stored[start:]).digest() != stored[len(MAGIC) : start]:
        raise DamagedState("its content differs from what was written")
    about, _, packed = stored[start:].partition(b"\n")
    expander = zlib.decompressobj()
    try:
        content = expander.decompress(packed, MOST_EXPANDED)
        found: dict[str, Any] = json.loads(about)
    except (zlib.error, ValueError) as failure:
        raise DamagedState(str(failure)) from failure
    if not expander.eof:
        raise DamagedState("it is incomplete, or too large")
    return found, content


def decode(content: bytes) -> Any:
    """Return the encoded value. Raises DamagedState."""
    try:
        start = 8 + int.from_bytes(content[:8], "big")
        document = json.loads(content[8:start])
        return _Decoder([_array(content, start, *place) for place in document["arrays"]]).value(document["value"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as failure:
        raise DamagedState(f"it cannot be read ({type(failure).__name__}: {failure})") from failure


def _array(content: bytes, start: int, kind: str, shape: list[int], at: int, size: int) -> NDArray[Any]:
    if kind not in TYPES:
        raise ValueError(f"arrays of type {kind}")
    return np.frombuffer(content[start + at : start + at + size], dtype=kind).reshape(shape).copy()


class _Encoder:
    def __init__(self, variables: Set[str]) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._variables = variables
        self._known: dict[int, tuple[Any, Any]] = {}  # by identity: what keeps it alive, and the reference to it

    def plain(self, value: Any) -> Any:
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            return float(value)
        if isinstance(value, list):
            return [self.plain(one) for one in value]
        if isinstance(value, tuple):
            return {"tuple": [self.plain(one) for one in value]}
        if isinstance(value, frozenset):
            return {"set": [self.plain(one) for one in sorted(value)]}
        if isinstance(value, set):
            return {"mutable": [self.plain(one) for one in sorted(value)]}
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                raise NotEncodable("a mapping has keys that are no texts")
            return {"map": {key: self.plain(one) for key, one in value.items()}}
        return self._shared(value)

    def _shared(self, value: Any) -> Any:
        """Encode an array or an object; the second time as a reference."""
        if id(value) in self._known:
            return self._known[id(value)][1]
        if isinstance(value, np.ndarray):
            found = self._array(value)
            self._known[id(value)] = value, found
            return found
        name = type(value).__name__
        if CLASSES.get(name) is not type(value):
            raise NotEncodable(f"a value of class `{name}`")
        inner = {key: self.plain(one) for key, one in self._values_of(value).items()}
        number = len(self._known)
        self._known[id(value)] = value, {"same": number}
        return {"class": name, "number": number, "values": inner}

    def _array(self, value: NDArray[Any]) -> Any:
        if value.dtype.kind == "O":
            return {"objects": [self.plain(one) for one in value.tolist()]}
        if value.dtype.str not in TYPES:
            raise NotEncodable(f"an array of type {value.dtype}")
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1}

    def _values_of(self, value: Any) -> Mapping[str, Any]:
        if isinstance(value, CurrentPlan):  # a journal keeps no others: a run that is read from it has none
            return {"values": {name: given for name, given in value.values.items() if name in self._variables}}
        if is_dataclass(value):
            return {one.name: getattr(value, one.name) for one in fields(value)}
        if hasattr(type(value), "__struct_fields__"):
            return {name: getattr(value, name) for name in type(value).__struct_fields__}
        return dict(vars(value))


class _Decoder:
    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._known: dict[int, Any] = {}

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(one) for one in plain]
        if not isinstance(plain, dict):
            return plain
        match plain:
            case {"array": number}:
                return self._arrays[number]
            case {"same": number}:
                return self._known[number]
            case {"tuple": items}:
                return tuple(self.value(one) for one in items)
            case {"map": items}:
                return {key: self.value(one) for key, one in items.items()}
            case {"set": items}:
                return frozenset(self.value(one) for one in items)
            case {"mutable": items}:
                return {self.value(one) for one in items}
            case {"objects": items}:
                found: NDArray[Any] = np.empty(len(items), dtype=object)
                found[:] = [self.value(one) for one in items]
                return found
            case {"class": name, "number": number, "values": values}:
                self._known[number] = made = _made(CLASSES[name], {key: self.value(v) for key, v in values.items()})
                return made
        raise ValueError("an unknown form")


def _made(kind: type, values: dict[str, Any]) -> Any:
    if hasattr(kind, "__struct_fields__") or is_dataclass(kind):
        return kind(**values)
    found: Any = object.__new__(kind)
    vars(found).update(values)
    return found
