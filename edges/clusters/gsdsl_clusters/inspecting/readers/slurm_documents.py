"""What the commands of Slurm print about a cluster: read live, or from a folder with saved outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpusched_dsl.data.sources.files import DataFile, Fault, FileLimits, Unreadable, expand_gzip, read_bytes
from gsdsl_clusters.drivers.protocol import ClusterUnavailable
from gsdsl_clusters.drivers.slurm.commands import Commands

HISTORY_DAYS = 30
_SACCT = (
    "JobID,JobName,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,Priority,ReqTRES,"
    "AllocTRES,NNodes,NodeList,Reason,Constraints"
)
# Dates without an offset are in UTC, and no list of array tasks is shortened.
VARIABLES: Mapping[str, str] = {"TZ": "UTC", "SLURM_BITSTR_LEN": "0", "LC_ALL": "C"}
# The file of each document, and the commands that print it; the first that succeeds is used. Slurm 22.05 lists
# nodes by `sinfo --json`, later releases by `scontrol`; without the JSON plug-in there is only text.
COMMANDS: Mapping[str, str] = {
    "date.txt": "date '+%s %z'",
    "jobs.json": "squeue --all --json",
    "jobs.txt": "scontrol --all --oneliner show job",
    "nodes.json": "scontrol show nodes --json",
    "sinfo.json": "sinfo --all --json",
    "nodes.txt": "scontrol --all --oneliner show node",
    "partitions.txt": "scontrol --all --oneliner show partition",
    "reservations.txt": "scontrol --oneliner show reservation",
    "topology.txt": "scontrol show topology",
    "qos.txt": "sacctmgr --parsable2 show qos format=Name,GrpTRES,MaxTRESPU,MaxTRESPA,Priority",
    "assoc.txt": "sacctmgr --parsable2 show assoc format=Account,User,Partition,ParentName,GrpTRES,Fairshare",
    "sacct.txt": f"sacct --allusers --allocations --parsable2 --starttime=now-{HISTORY_DAYS}days --format={_SACCT}",
}
_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "jobs.txt": ("jobs.json",), "sinfo.json": ("nodes.json",), "nodes.txt": ("nodes.json",),
}  # fmt: skip
_GZIP = b"\x1f\x8b"


@dataclass
class SlurmDocuments:
    """The documents by file name, why others could not be read, and hashes of files."""

    texts: dict[str, bytes] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A document as text, "" if it is not there."""
        return self.texts.get(name, b"").decode(errors="replace")


def script() -> str:
    """The commands that save all documents in the present folder, for a shell."""
    lines = ["export " + " ".join(f"{name}={value}" for name, value in VARIABLES.items())]
    for name, command in COMMANDS.items():
        before = " || ".join(f"[ -s {other} ]" for other in _INSTEAD.get(name, ()))
        lines.append(f"{before} || {command} > {name}" if before else f"{command} > {name}")
    return "\n".join(lines)


def live_documents(commands: Commands) -> SlurmDocuments:
    """Run the commands. What fails is left out, with the reason."""
    found = SlurmDocuments()
    for name, command in COMMANDS.items():
        if name == "date.txt" or any(other in found.texts for other in _INSTEAD.get(name, ())):
            continue
        try:
            found.texts[name] = commands.text(command.split()).encode()
        except ClusterUnavailable as failure:
            found.failures[name] = str(failure)
            continue
        for other in _INSTEAD.get(name, ()):
            found.failures.pop(other, None)
    return found


def saved_documents(folder: Path, limits: FileLimits) -> SlurmDocuments:
    """Read the files of a folder that have the names of documents, also compressed ones (`jobs.json.gz`)."""
    found = SlurmDocuments()
    for name in COMMANDS:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                content = read_bytes(DataFile(path.resolve(), str(path)), limits)
                found.hashes[str(path)] = hashlib.sha256(content).hexdigest()
                content = expand_gzip(str(path), content, limits) if content.startswith(_GZIP) else content
                if content.strip():
                    found.texts[name] = content
                break
        if name == "topology.txt" and name not in found.texts and (folder / "topology.conf").is_file():
            found.texts[name] = read_bytes(DataFile((folder / "topology.conf").resolve(), str(folder)), limits)
        if name not in found.texts and not any(other in found.texts for other in _INSTEAD.get(name, ())):
            found.failures[name] = "no such file, or an empty one"
    for name, others in _INSTEAD.items():
        if name in found.texts:
            for other in others:
                found.failures.pop(other, None)
    return found


def is_saved(folder: Path) -> bool:
    """Whether a folder has documents of Slurm."""
    return any(
        (folder / f"{name}{end}").is_file() for name in ("jobs.json", "jobs.txt", "sacct.txt") for end in ("", ".gz")
    )


def no_jobs_fault(documents: SlurmDocuments, source: str) -> Unreadable:
    """The error for a cluster whose jobs and history cannot be read."""
    notes = tuple(
        why if why.startswith("`") else f"`{name}`: {why}" for name, why in documents.failures.items() if "jobs" in name
    )
    message = f"neither the jobs nor the history of `{source}` can be read"
    help = (
        "run it where `squeue` works, or on a folder with what the commands of `gsdsl inspect slurm --commands` print"
    )
    return Unreadable(Fault("GSM5603", message, notes=notes, help=help))
