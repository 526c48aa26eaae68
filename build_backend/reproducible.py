"""The build backend: that of setuptools, with archives and wheels that depend on the content of the project only.

An editable install puts the folders of all packages on the path. setuptools knows one such folder, or else code that
finds packages, which type checkers do not run.

setuptools also packs what an earlier build left in `build/lib`, such as modules that were removed since.
Wheels of setuptools have the time of SOURCE_DATE_EPOCH already. Source archives have the times, owners and order of
files of the machine that builds them. Here they are written again: sorted, owned by nobody, with that time, or that of
1980 without it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401 - the other functions of a build backend
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

FIRST_TIME = 315532800  # 1980-01-01, the first time of a wheel
LEFT_OVER = Path("build", "lib")  # of the project, in whose folder a backend runs


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel without the files of earlier builds."""
    if LEFT_OVER.is_dir():
        shutil.rmtree(LEFT_OVER)
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel of an editable install, with the folders of all packages on the path."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    wheel = Path(wheel_directory) / name
    wheel.write_bytes(with_folders(wheel.read_bytes(), package_parents(Path.cwd())))
    for metadata in Path().glob("*.egg-info"):  # on the path, and out of date after the next change
        shutil.rmtree(metadata)
    return name


def package_parents(project: Path) -> list[Path]:
    """Return the folders that have a package of a project, from its `package-dir`, without repetitions."""
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    folders = settings["tool"]["setuptools"]["package-dir"].items()
    return list(dict.fromkeys((project / folder).parent for name, folder in folders if "." not in name))


def with_folders(wheel: bytes, folders: list[Path]) -> bytes:
    """Return an editable wheel whose one path file lists these folders."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as source, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target:
        content = {member: source.read(member) for member in source.infolist()}
        [path_file] = (member.filename for member in content if member.filename.endswith(".pth"))
        paths = "".join(f"{folder}\n" for folder in folders).encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(paths).digest()).rstrip(b"=").decode()
        for member, data in content.items():
            if member.filename == path_file:
                data = paths
            elif member.filename.endswith(".dist-info/RECORD"):
                lines = data.decode().splitlines()
                lines = [line for line in lines if not line.startswith(f"{path_file},")]
                data = "\n".join([*lines, f"{path_file},sha256={digest},{len(paths)}", ""]).encode()
            target.writestr(member, data)
    return written.getvalue()


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Build the source archive, and write it again without what depends on the machine."""
    name = build_meta.build_sdist(sdist_directory, config_settings)
    archive = Path(sdist_directory) / name
    archive.write_bytes(normalised(archive.read_bytes(), max(FIRST_TIME, _time())))
    return name


def normalised(archive: bytes, time: int) -> bytes:
    """Return a compressed archive with sorted members of one time, without owners, and with plain permissions."""
    plain = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as source,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda m: m.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            target.addfile(member, source.extractfile(member) if member.isreg() else None)
    return gzip.compress(plain.getvalue(), mtime=0)


def _time() -> int:
    try:
        return int(os.environ.get("SOURCE_DATE_EPOCH", ""))
    except ValueError:
        return FIRST_TIME
