"""Lines of JSON between a live run and its environment: events in, records out.

Published as `docs/schema/online-event-1.json` and `docs/schema/online-decision-1.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, NoReturn

import msgspec
from msgspec import Meta, Struct

from gpusched_dsl.data.sources.json_keys import repeated_key
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DataError

VERSION = 1
LONGEST_LINE = 16 * 1024 * 1024  # bytes

Id = Annotated[str, Meta(min_length=1, max_length=200, description="unique in the run; a second event is a duplicate")]
Time = Annotated[
    float | str | None,
    Meta(description="in the unit of the clock since the start, or ISO 8601 where the start is known; without: now"),
]
Label = Annotated[str | int, Meta(description="the name of an element as in the data")]
Cell = float | int | str | bool
Values = Annotated[
    dict[str, Cell | dict[str, Cell] | list[list[Cell]]],
    Meta(
        description="by parameter: a value, values by subscripts joined with commas, or rows of subscripts and value. "
        "In events of a job or node, its own subscript is left out."
    ),
]


# --- what comes in ---------------------------------------------------------------------------------------------------


class Event(Struct, tag_field="kind", kw_only=True, forbid_unknown_fields=True):
    """What every event has."""

    version: Literal[1]
    id: Id
    time: Time = None


class Arrival(Event, tag="arrival", kw_only=True, forbid_unknown_fields=True):
    """A job comes, with what is known of it."""

    job: Label
    values: Values = {}


class ArrivingJob(Struct, kw_only=True, forbid_unknown_fields=True):
    """One of the jobs that arrive together."""

    job: Label
    values: Values = {}


class Arrivals(Event, tag="arrivals", kw_only=True, forbid_unknown_fields=True):
    """Several jobs come at one time, as by one arrival each; they are taken or refused together."""

    jobs: Annotated[list[ArrivingJob], Meta(min_length=1)]


class Completion(Event, tag="completion", kw_only=True, forbid_unknown_fields=True):
    """A job has ended."""

    job: Label


class Progress(Event, tag="progress", kw_only=True, forbid_unknown_fields=True):
    """How far a job is: the fraction of its work, or its work in the unit that the online block states."""

    job: Label
    fraction: Annotated[float, Meta(ge=0, le=1)] | None = None
    done: Annotated[float, Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if (self.fraction is None) is (self.done is None):
            raise ValueError("give either `fraction` or `done`")


class Withdrawal(Event, tag="withdrawal", kw_only=True, forbid_unknown_fields=True):
    """A job is not wanted any more; with `returns` only for now: it may arrive again, with its progress and data."""

    job: Label
    returns: bool = False


class NodeDown(Event, tag="node_down", kw_only=True, forbid_unknown_fields=True):
    """A node has failed or was taken away; its jobs are halted."""

    node: Label


class NodeUp(Event, tag="node_up", kw_only=True, forbid_unknown_fields=True):
    """A node is there again."""

    node: Label


class Value(Event, tag="value", kw_only=True, forbid_unknown_fields=True):
    """Parameters have other values from now on, such as a price."""

    values: Annotated[Values, Meta(min_length=1)]


class Tick(Event, tag="tick", kw_only=True, forbid_unknown_fields=True):
    """Time has come so far; nothing else happened."""


class End(Event, tag="end", kw_only=True, forbid_unknown_fields=True):
    """Nothing comes any more: the run ends with its result."""


AnyEvent = Arrival | Arrivals | Completion | Progress | Withdrawal | NodeDown | NodeUp | Value | Tick | End
KINDS = ("arrival", "arrivals", "completion", "progress", "withdrawal", "node_down", "node_up", "value", "tick", "end")


class _WithId(Struct):
    id: Any = None


_with_id = msgspec.json.Decoder(_WithId)
_object: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class Refused(DataError):
    """A line that is no event: `id` is that of the line, where it has one."""

    def __init__(self, diagnostic: Diagnostic, id: str | None = None) -> None:
        super().__init__([diagnostic])
        self.diagnostic, self.id = diagnostic, id


def content_of(line: bytes) -> dict[str, Any]:
    """The JSON object in a line; raises `Refused` with GSM5201, or GSM5204 for too large numbers and repeated keys."""
    if len(line) > LONGEST_LINE:
        _refuse("GSM5201", f"the line is longer than {LONGEST_LINE} bytes", None, "send fewer values in one event")
    try:
        content = _object.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            id = _with_id.decode(line).id  # skips over what it does not ask for
            known = id if isinstance(id, str) else None
            _refuse("GSM5204", f"the event does not fit: {_in_words(str(failure))}", known)
        _refuse("GSM5201", f"the line is not a JSON object: {failure}", None, "write one JSON object on each line")
    key = repeated_key(line)
    if key is not None:
        id = content.get("id") if key != "id" else None
        message = f"the event does not fit: an object has the key `{key}` twice"
        _refuse("GSM5204", message, id if isinstance(id, str) else None, "remove one of the two members, or rename it")
    return content


def event_of(content: Mapping[str, Any]) -> AnyEvent:
    """The event with this content; raises `Refused` with GSM5202 to GSM5204."""
    id, version, kind = content.get("id"), content.get("version"), content.get("kind")
    id = id if isinstance(id, str) else None
    if version != VERSION or isinstance(version, bool):
        told = "has no version" if version is None else f"has version {version!r}"
        _refuse("GSM5202", f"the event {told}; this gsdsl reads version {VERSION}", id, f'write `"version": {VERSION}`')
    if not isinstance(kind, str) or kind not in KINDS:
        told = "has no kind" if kind is None else f"is of unknown kind {kind!r}"
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else None
        _refuse("GSM5203", f"the event {told}", id, near or f"kinds are {', '.join(f'`{k}`' for k in KINDS)}")
    try:
        event: AnyEvent = msgspec.convert(content, AnyEvent)
    except (msgspec.MsgspecError, RecursionError) as failure:
        help = f"docs/schema/online-event-1.json defines the events of kind `{kind}`"
        _refuse("GSM5204", f"the event does not fit: {_in_words(str(failure))}", id, help)
    return event


def other_event(id: str) -> Diagnostic:
    """Return GSM5206: an event has the id of another event."""
    help = "give every event a unique id; only an identical event may be sent again"
    return Diagnostic("GSM5206", f"the id `{id}` belongs to another event", help=help)


def _in_words(failure: str) -> str:
    """The decoder's words, in lower case and without the place where that is the event itself."""
    text, _, at = failure.partition(" - at `$")
    where = at.rstrip("`").lstrip(".")
    return (text[:1].lower() + text[1:]) + (f" (in `{where}`)" if where else "")


def _refuse(code: str, message: str, id: str | None, help: str | None = None) -> NoReturn:
    raise Refused(Diagnostic(code, message, help=help), id)


# --- what goes out ---------------------------------------------------------------------------------------------------


class Entry(Struct):
    """A value of a variable that is not zero; `index` has the labels of its subscripts."""

    index: list[str | int]
    value: float


class Record(Struct, tag_field="kind", kw_only=True):
    """What every record has."""

    version: Literal[1] = 1


class Started(Record, tag="started", kw_only=True):
    """The first record: the run begins, or goes on after so many recorded steps and events."""

    online: str
    time: float
    unit: Annotated[str, Meta(description="of all times; empty: they count slots or have none")]
    steps: Annotated[int, Meta(ge=0)]
    events: Annotated[int, Meta(ge=0)]


class Acknowledged(Record, tag="ack", kw_only=True):
    """An event was recorded and counts; of a duplicate, the first one does."""

    id: Id
    time: Annotated[float, Meta(description="when it applies; of a late event the present time")]
    late: bool = False
    duplicate: bool = False


class Failed(Record, tag="error", kw_only=True):
    """A line that was not taken; the run goes on as if it had not come."""

    code: Annotated[str, Meta(pattern="^GSM[0-9]{4}$")]
    message: str
    help: str | None = None
    line: Annotated[int, Meta(ge=1, description="number of the line since this process began")]
    id: str | None = None


class Quarantined(Record, tag="quarantined", kw_only=True):
    """An event of the journal that is set aside: no plan can be made after it, and the run goes on without it."""

    id: Id
    message: str
    help: str | None = None


class SlotTime(Struct, kw_only=True):
    """A slot and its start."""

    slot: Label
    time: float
    date: Annotated[str | msgspec.UnsetType, Meta(description="absent where the start of the run is unknown")] = (
        msgspec.UNSET
    )


class LaterSlot(SlotTime, kw_only=True):
    """A later slot of a plan: the values of the placement that are not zero in it."""

    entries: list[Entry]


class Decided(Record, tag="decision", kw_only=True):
    """What is to be done from now on: it takes the place of the decision before."""

    step: Annotated[
        int,
        Meta(
            ge=1,
            description="the number of the plan; a decision that comes again after a restart has the same number, and "
            "the same slot if it has one",
        ),
    ]
    time: float
    why: list[str]
    method: str
    status: str
    seconds: Annotated[float, Meta(ge=0, description="by the wall clock, to make the plan")]
    objective: float | None = None
    bound: float | None = None
    entries: Annotated[dict[str, list[Entry]], Meta(description="by variable; what is not listed is 0")]
    again: Annotated[bool, Meta(description="whether it may have been told before, by a process that was killed")] = (
        False
    )
    violation: Annotated[
        str | msgspec.UnsetType,
        Meta(
            description="the method and the worst row or bound of the model that its plan violates; absent if it "
            "violates none. With status `broken` the entries are that plan, with status `none` it was refused."
        ),
    ] = msgspec.UNSET
    slot: Annotated[
        SlotTime | msgspec.UnsetType,
        Meta(
            description="the slot in effect, of a block with a window: `entries` are the values in this slot, and "
            "those without a slot. Where `why` is `slot`, the plan is not new."
        ),
    ] = msgspec.UNSET
    later: Annotated[
        list[LaterSlot] | msgspec.UnsetType,
        Meta(description="the later slots of the window in which the placement differs from that in the slot before"),
    ] = msgspec.UNSET
    repeated: Annotated[
        dict[str, str | int | None] | msgspec.UnsetType,
        Meta(
            description="by parameter, the last slot with a known value: the plan repeats it in later slots. Absent if "
            "all values in the window are known."
        ),
    ] = msgspec.UNSET

    @property
    def is_border(self) -> bool:
        """Whether other values of a known plan take effect, in a slot of their own."""
        return self.why == [BORDER]


class Finished(Record, tag="finished", kw_only=True):
    """The last record of a run that has ended."""

    time: float
    steps: Annotated[int, Meta(ge=0)]
    result: Any = None


BORDER = "slot"  # why other values of the same plan take effect

AnyRecord = Started | Acknowledged | Failed | Quarantined | Decided | Finished
_encoder = msgspec.json.Encoder()


def line_of(record: AnyRecord) -> bytes:
    """A record as one line of JSON, with its end."""
    return _encoder.encode(record) + b"\n"


def failure_record(diagnostic: Diagnostic, line: int, id: str | None) -> Failed:
    help = None if diagnostic.help is None else str(diagnostic.help)  # JSON takes no subclass of `str`
    return Failed(code=diagnostic.code, message=diagnostic.message, help=help, line=line, id=id)


# --- schemas ---------------------------------------------------------------------------------------------------------


def event_schema() -> dict[str, Any]:
    """The JSON schema of events, as published in `docs/schema/online-event-1.json`."""
    return _schema("Events of a live run, version 1", AnyEvent)


def record_schema() -> dict[str, Any]:
    """The JSON schema of records, as published in `docs/schema/online-decision-1.json`."""
    return _schema("Records of a live run, version 1", AnyRecord)


def _schema(title: str, kinds: Any) -> dict[str, Any]:
    described = msgspec.json.schema(kinds)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **described}
