"""The store of a campaign: a folder with one small file per run, written completely or not at all.

A file is complete or absent, and a damaged one costs one run; a database would be lost as a whole.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from gpusched_dsl.campaigns.tasks import FORMAT, RunRecord, encode, read_record
from gpusched_dsl.data.sources.writing import replace_file
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

HEADER: Final = "store.json"
RUNS: Final = "runs"
LOCK: Final = "store.lock"
DAMAGED: Final = ".damaged"  # at the end of the name of a file that is set aside


class Store:
    """A folder with the records of one campaign.

    `open` creates it if necessary, and locks it for one writer unless `read_only`. Use it as a context manager.
    """

    def __init__(self, folder: Path, campaign: str, *, read_only: bool = False) -> None:
        self.folder, self.campaign = folder, campaign
        self.warnings: list[Diagnostic] = []
        self._lock: sqlite3.Connection | None = None
        if read_only:
            if self._header() is None:
                help = (
                    f"run the campaign first: `gsdsl campaign run FILE {campaign}`, or name its folder with `--store`"
                )
                raise DiagnosticError([Diagnostic("GSM5301", f"there is no store `{folder}`", help=help)])
            return
        self._header()  # refuses a folder of something else before anything is created in it
        try:
            (folder / RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise DiagnosticError([_unusable(folder, failure)]) from failure
        self._acquire()
        try:
            if self._header() is None:
                self.write(HEADER, json.dumps({"format": FORMAT, "campaign": campaign}) + "\n")
        except DiagnosticError:
            self.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # --- the store itself --------------------------------------------------------------------------------------------

    def _header(self) -> str | None:
        """Return the name of the campaign in the header, None without a header; raise DiagnosticError."""
        path = self.folder / HEADER
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            version, campaign = document["format"], str(document["campaign"])
        except FileNotFoundError:
            self._refuse_other_folder()
            return None
        except OSError as failure:
            raise DiagnosticError([_unusable(self.folder, failure)]) from failure
        except (ValueError, KeyError, TypeError, RecursionError) as failure:
            message = f"`{path}` is damaged"
            help = f"delete `{HEADER}`: the next `gsdsl campaign run` writes it again and keeps the results in `{RUNS}`"
            raise DiagnosticError([Diagnostic("GSM5301", message, help=help)]) from failure
        if version != FORMAT:
            message = f"the store `{self.folder}` has format {version}, this version reads format {FORMAT}"
            help = "use the version of gsdsl that wrote it, or choose another folder with `--store`"
            raise DiagnosticError([Diagnostic("GSM5302", message, help=help)])
        if campaign != self.campaign:
            message = (
                f"the store `{self.folder}` has the results of the campaign `{campaign}`, not of `{self.campaign}`"
            )
            raise DiagnosticError([Diagnostic("GSM5303", message, help="choose another folder with `--store`")])
        return campaign

    def _refuse_other_folder(self) -> None:
        """Raise DiagnosticError (GSM5301) for a folder with other files, which must not become a store."""
        own = {RUNS, LOCK, HEADER}
        if (self.folder / RUNS).is_dir():  # a store that lost its header
            own |= {"gsdsl.lock", "results.parquet"}
        try:
            others = sorted(path.name for path in self.folder.iterdir() if path.name not in own)
        except FileNotFoundError:
            return
        except OSError as failure:
            raise DiagnosticError([_unusable(self.folder, failure)]) from failure
        visible = [name for name in others if not name.startswith(".")]
        if visible:
            message = f"`{self.folder}` is not a store: it has other files, such as `{visible[0]}`"
            help = "choose a new or an empty folder with `--store`"
            raise DiagnosticError([Diagnostic("GSM5301", message, help=help)])

    def _acquire(self) -> None:
        """Lock the store for this process until `close`: an exclusive transaction, which ends with the process."""
        path = self.folder / LOCK
        try:
            self._lock = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
            self._lock.execute("PRAGMA journal_mode = MEMORY")  # else a kill leaves a file behind
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as failure:
            self.close()
            if (getattr(failure, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                message = f"another campaign writes to the store `{self.folder}`"
                help = "wait for it or stop it; `gsdsl campaign status` shows its progress"
                raise DiagnosticError([Diagnostic("GSM5304", message, help=help)]) from failure
            raise DiagnosticError([_unusable(self.folder, failure)]) from failure

    # --- records -----------------------------------------------------------------------------------------------------

    def path_of(self, key: str) -> Path:
        return self.folder / RUNS / key[:2] / f"{key}.json"

    def read(self, key: str) -> RunRecord | None:
        """Return the record of a key, None if there is none; a damaged one is set aside, with a warning."""
        path = self.path_of(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise DiagnosticError([_unusable(path, failure)]) from failure
        record = _decode(data)
        if record is None or record.key != key:
            self._set_aside(path)
            return None
        return record

    def read_all(self, keys: Iterable[str]) -> dict[str, RunRecord]:
        """Return the records of keys that have one."""
        return {key: record for key in keys if (record := self.read(key)) is not None}

    def keys(self) -> Iterator[str]:
        """Yield the keys of all stored records, also of earlier inputs."""
        for path in sorted((self.folder / RUNS).glob("??/*.json")):
            yield path.stem

    def put(self, record: RunRecord) -> None:
        """Store a record durably; raises DiagnosticError (GSM5306)."""
        data = encode(record)
        path = self.path_of(record.key)
        try:
            path.parent.mkdir(exist_ok=True)
            with replace_file(path) as beside:
                beside.write_bytes(data + b"\n" + _digest(data) + b"\n")
        except OSError as failure:
            reason = failure.strerror or str(failure)
            message = f"the result of a run cannot be stored in `{self.folder}`: {reason}"
            help = "free space or fix the folder, then run the campaign again: it continues with the stored results"
            raise DiagnosticError([Diagnostic("GSM5306", message, help=help)]) from failure

    def write(self, name: str, text: str) -> None:
        """Write a file of the store as a whole; raises DiagnosticError (GSM5306)."""
        try:
            with replace_file(self.folder / name) as beside:
                beside.write_text(text, encoding="utf-8")
        except OSError as failure:
            message = f"`{self.folder / name}` cannot be written: {failure.strerror or failure}"
            raise DiagnosticError([Diagnostic("GSM5306", message, help="free space or fix the folder")]) from failure

    def _set_aside(self, path: Path) -> None:
        message = f"`{path}` is damaged: its run counts as missing"
        help = f"the file is kept as `{path.name}{DAMAGED}`"
        if self._lock is None:
            help = "the next `gsdsl campaign run` repeats the run"
        else:
            path.replace(path.with_name(path.name + DAMAGED))
        self.warnings.append(Diagnostic("GSM5305", message, help=help, severity=Severity.WARNING))


def _decode(data: bytes) -> RunRecord | None:
    """Return the record in the bytes of a file, None if they are not what was written."""
    body, separator, digest = data.rstrip(b"\n").rpartition(b"\n")
    if not separator or _digest(body) != digest:
        return None
    try:
        return read_record(body)
    except msgspec.DecodeError:
        return None


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def _unusable(place: Path, failure: Exception) -> Diagnostic:
    reason = failure.strerror if isinstance(failure, OSError) and failure.strerror else str(failure)
    return Diagnostic(
        "GSM5301", f"cannot use `{place}` as a store: {reason}", help="choose a folder that can be written"
    )
