"""The sessions of a service by name, with their settings on disk, so that a restarted service continues them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, defstruct

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.live.messages import AnyRecord
from gpusched_dsl.online.live.trial import Defect, plain_defect
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.options.option import OptionRow
from gpusched_dsl.options.table import rows
from gsdsl_service.access import CANNOT_START
from gsdsl_service.parameters import SHOWN, session_name
from gsdsl_service.session import ServedSession

MOST_SECONDS = 3600  # of a plan
UNKNOWN, LIMIT, CLOSED = "GSM5503", "GSM5504", "GSM5506"


class NamedSession(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The session that a client asks for. The model and what may be read are those of the service."""

    name: Annotated[str, Meta(description="letters, digits, `_`, `.` and `-`, at most 63")]
    start: Annotated[str, Meta(description="the date at time 0")] | None = None


def session_type() -> type[NamedSession]:
    """Return the type of requests for sessions, with the options that a client may choose."""
    fields = [(row.name, _type_of(row), None) for row in rows("serve", "http") if row.name != "start"]
    made = defstruct(
        "NewSession", fields, bases=(NamedSession,), module=__name__, forbid_unknown_fields=True, kw_only=True,
        omit_defaults=True,
    )  # fmt: skip
    assert issubclass(made, NamedSession)
    return made


def _type_of(row: OptionRow) -> Any:
    kind, about = row.kind, row.help
    if kind.is_time:
        return Annotated[float, Meta(gt=0, le=MOST_SECONDS, description=f"{about}, in seconds")] | None
    if kind.type is int:
        most = kind.most if math.isfinite(kind.most) else None
        return Annotated[int, Meta(ge=kind.least, le=most, description=about)] | None
    return Annotated[kind.type, Meta(description=about)] | None


NewSession: Final = session_type()


class SessionState(Struct, kw_only=True):
    """What the service tells of a session."""

    name: str
    state: str
    online: str | None = None
    method: str
    unit: str | None = None
    decision: int | None = None
    waiting: int = 0
    recorded: bool = False
    error: str | None = None
    result: Any = None


def state_of(session: ServedSession) -> SessionState:
    started, decision, failure = session.started, session.decision, session.failure
    return SessionState(
        name=session.name,
        state=session.state,
        online=None if started is None else started.online,
        method=session.config.method,
        unit=None if started is None else started.unit,
        decision=None if decision is None else decision.step,
        waiting=session.waiting,
        recorded=session.journal is not None,
        error=failure[0].message if failure else None,
        result=session.result,
    )


@dataclass
class Sessions:
    """`config` has what a session does not choose. With `records`, a folder, sessions are recorded in it.

    `most` limits the sessions, and `most_waiting` the requests that wait for one.
    """

    workspace: Workspace
    config: RunConfig
    records: Path | None = None
    most: int = 16
    most_waiting: int = 64
    on_record: Callable[[str, AnyRecord], None] = lambda session, record: None
    defect: Defect = plain_defect
    _known: dict[str, ServedSession] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __iter__(self) -> Iterator[ServedSession]:
        return iter(list(self._known.values()))

    def get(self, name: str) -> ServedSession:
        """Raises DiagnosticError (GSM5503) for an unknown name."""
        session = self._known.get(name)
        if session is None:
            raise _error(UNKNOWN, f"there is no session `{name[:SHOWN]}`", "create it by POST /v1/sessions")
        return session

    def create(self, wanted: NamedSession) -> ServedSession:
        """Open a session, or continue the one in the records. Raises DiagnosticError if that is not possible."""
        session = self._reserve(wanted)
        try:
            session.open()
        except DiagnosticError:
            with self._lock:
                self._known.pop(session.name, None)
            raise
        self._save(wanted)
        return session

    def remove(self, name: str) -> ServedSession:
        """Stop a session and forget it; its journal stays. Raises DiagnosticError (GSM5503)."""
        session = self.get(name)
        session.stop()
        session.join()
        with self._lock:
            self._known.pop(name, None)
        if self.records is not None:
            (self.records / f"{name}.json").unlink(missing_ok=True)
        return session

    def resume(self) -> list[tuple[str, DiagnosticError]]:
        """Continue all sessions of the records; return those that fail, with the reason."""
        if self.records is None:
            return []
        failed = []
        for path in sorted(self._folder(self.records).glob("*.json")):
            try:
                wanted = msgspec.json.decode(path.read_bytes(), type=NewSession)
                if wanted.name != path.stem:
                    raise _error(CANNOT_START, f"`{path}` has the settings of another session", "restore the file")
                self._reserve(wanted, recorded=True).open()
            except DiagnosticError as error:
                failed.append((path.stem, error))  # it stays, as failed
            except (OSError, msgspec.MsgspecError) as failure:
                failed.append((path.stem, _error(CANNOT_START, f"`{path}` cannot be used: {failure}", None)))
        return failed

    def stop(self, seconds: float) -> list[str]:
        """Stop all sessions; return the names of those that still plan after some time."""
        sessions = list(self)
        for session in sessions:
            session.stop()
        return [session.name for session in sessions if not session.join(seconds)]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _reserve(self, wanted: NamedSession, *, recorded: bool = False) -> ServedSession:
        """Make a session and take its name; a `recorded` one must have its journal. Raises DiagnosticError."""
        session_name(wanted.name)
        chosen = {
            name: value
            for name in wanted.__struct_fields__
            if name not in ("name", "start") and (value := getattr(wanted, name)) is not None
        }
        journal = None if self.records is None else self._folder(self.records) / f"{wanted.name}.db"
        config = replace(self.config, journal=journal, **chosen)
        session = ServedSession(
            wanted.name, self.workspace, config, wanted.start, defect=self.defect, most_waiting=self.most_waiting,
            recorded=recorded, on_record=lambda record: self.on_record(wanted.name, record),
        )  # fmt: skip
        with self._lock:
            if wanted.name in self._known:
                raise _error(CLOSED, f"there is a session `{wanted.name}` already", "choose another name, or delete it")
            if len(self._known) >= self.most:
                raise _error(LIMIT, f"there are {self.most} sessions, the most that are allowed", "delete one")
            self._known[wanted.name] = session
        return session

    def _save(self, wanted: NamedSession) -> None:
        if self.records is not None:
            path = self._folder(self.records) / f"{wanted.name}.json"
            temporary = path.with_suffix(".tmp")
            temporary.write_bytes(msgspec.json.encode(wanted) + b"\n")
            temporary.replace(path)

    @staticmethod
    def _folder(folder: Path) -> Path:
        """Raises DiagnosticError (GSM5501) for a folder that cannot be made."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise _error(CANNOT_START, f"the folder `{folder}` cannot be used: {failure.strerror}", None) from failure
        return folder


def _error(code: str, message: str, help: str | None) -> DiagnosticError:
    return DiagnosticError([Diagnostic(code, message, help=help)])
