"""From what a user names to a snapshot: the kind of a source is recognised by its content."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from gpusched_dsl.data.formats.shape import Raw
from gpusched_dsl.data.sources.files import DataFile, Fault, FileLimits, Unreadable, expand_gzip, read_bytes
from gsdsl_clusters.inspecting.doubts import doubts_of
from gsdsl_clusters.inspecting.readers.kubernetes import read_objects
from gsdsl_clusters.inspecting.readers.kubernetes_documents import (
    KUBECONFIG,
    has_objects,
    is_kubeconfig,
    objects_of,
    read_kubeconfig,
)
from gsdsl_clusters.inspecting.readers.sacct import read_sacct
from gsdsl_clusters.inspecting.readers.slurm import read_live_slurm, read_slurm
from gsdsl_clusters.inspecting.readers.slurm_documents import is_saved, saved_documents
from gsdsl_clusters.inspecting.readers.traces import read_trace, recognise_format, trace_formats
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.stated_nodes import StatedNodes, read_stated_nodes

LIVE_SLURM = "slurm"  # the source that runs the commands of Slurm
_GZIP = b"\x1f\x8b"


def read_snapshot(
    source: str, limits: FileLimits, *, form: str | None = None, zone: str = "UTC", nodes: str | None = None,
    live: bool = True,
) -> ClusterSnapshot:  # fmt: skip
    """Read a file, a folder with outputs of Slurm or `kubectl`, `slurm` by its commands, or a cluster by a kubeconfig.

    `form` is the name of the format of a file, or None to recognise it. `nodes` states the nodes of a source that has
    only jobs, as `--nodes`. Without `live`, no command runs and no cluster is reached: `slurm` is a file or folder.

    Raises Unreadable: GSM2001 for a file that is not there, GSM2008 and more for one that cannot be read, GSM5601 for a
    format that is not recognised, GSM5602 for stated nodes in another form, GSM5603 for a cluster that cannot be read.
    """
    stated, left_out = (None, []) if nodes is None else read_stated_nodes(nodes, limits)
    path = Path(source)
    runs_slurm = live and source == LIVE_SLURM
    if runs_slurm or path.is_dir():
        if stated is not None:
            raise Unreadable(Fault("GSM5602", f"`{source}` states its own nodes", help="omit `--nodes`"))
        found = read_live_slurm(limits, zone) if runs_slurm else _read_folder(path, limits, zone)
        return replace(found, notes=(*found.notes, *doubts_of(found)))
    if not path.exists():
        raise Unreadable(Fault("GSM2001", f"data file `{source}` does not exist"))
    raw, digest = _raw_of(path, source, limits)
    files = {source: digest}
    names_cluster = form == KUBECONFIG or (form is None and is_kubeconfig(raw))
    if names_cluster or (form is None and has_objects(raw)):
        if stated is not None:
            raise Unreadable(Fault("GSM5602", f"`{source}` states its own nodes", help="omit `--nodes`"))
        if names_cluster and not live:
            raise Unreadable(Fault("GSM5603", f"`{source}` names a live cluster, and only saved outputs are read here"))
        if names_cluster:
            found, files = read_kubeconfig(path, zone, stated=form is not None), {}  # it has secrets
        else:
            found = read_objects(objects_of(raw), source, zone=zone)
    else:
        found = _read(raw, form, zone, stated)
    unread = (*left_out, *found.unread)
    return replace(found, files=files, unread=unread, notes=(*found.notes, *doubts_of(found)))


def _raw_of(path: Path, source: str, limits: FileLimits) -> tuple[Raw, str]:
    """The content of a file, expanded if it is compressed, and its hash."""
    content = read_bytes(DataFile(path.resolve(), source), limits)
    digest = hashlib.sha256(content).hexdigest()
    if content.startswith(_GZIP):
        content = expand_gzip(source, content, limits)
    return Raw(source, content, limits=limits), digest


def _read_folder(folder: Path, limits: FileLimits, zone: str) -> ClusterSnapshot:
    if is_saved(folder):
        return read_slurm(saved_documents(folder, limits), str(folder), limits, zone=zone)
    objects, files = [], {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name.endswith((".json", ".json.gz")):
            raw, files[str(path)] = _raw_of(path, str(path), limits)
            objects += list(objects_of(raw)) if has_objects(raw) else []
    if objects:
        return replace(read_objects(objects, str(folder), zone=zone), files=files)
    message = f"folder `{folder}` has no saved outputs of Slurm or Kubernetes"
    help = (
        "save them by the commands that `gsdsl inspect slurm --commands` prints, or by "
        "`kubectl get nodes,pods,jobs --all-namespaces -o json > cluster.json`"
    )
    raise Unreadable(Fault("GSM5601", message, help=help))


def _read(raw: Raw, form: str | None, zone: str, stated: StatedNodes | None) -> ClusterSnapshot:
    if form == "sacct" or (form is None and _is_sacct(raw)):
        return read_sacct(raw, zone, stated=stated)
    found = form or recognise_format(raw)
    if found is None or found not in trace_formats():
        known = ", ".join(["sacct", KUBECONFIG, *trace_formats()])
        message = f"`{form}` is not a known format" if form else f"the format of `{raw.name}` is not recognised"
        raise Unreadable(Fault("GSM5601", message, help=f"state it: `--as NAME`, one of {known}"))
    return read_trace(raw, found, stated)


def _is_sacct(raw: Raw) -> bool:
    first = raw.data.lstrip()[:4096].split(b"\n", 1)[0]
    return b"|" in first and b"JobID" in first
