"""Files of secrets that others can read are told, by every command that is given one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpusched_dsl.cli import main
from gpusched_dsl.data.sources.secret_files import secret_warnings
from gsdsl_clusters.drivers.settings import PATHS, SECRETS

if os.name != "posix":
    pytest.skip("permissions of POSIX", allow_module_level=True)


@pytest.mark.parametrize(("mode", "told"), [(0o600, 0), (0o400, 0), (0o640, 1), (0o604, 1), (0o620, 1), (0o711, 0)])
def test_secrets_that_others_can_read(tmp_path: Path, mode: int, told: int) -> None:
    file = tmp_path / "tokens"
    file.write_text("a secret", encoding="utf-8")
    file.chmod(mode)
    assert [warning.code for warning in secret_warnings(None, tmp_path / "missing", file)] == ["GSM5510"] * told


def test_commands_tell_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both commands go on to their next error: a missing model."""
    tokens = tmp_path / "tokens"
    tokens.write_text("a 0123456789abcdef0123\n", encoding="utf-8")
    cluster = tmp_path / "cluster.toml"
    api = 'api = "http://localhost:1"\nversion = "v0.0.41"\ntoken_file = "tokens"\n'
    cluster.write_text(f'model = "no.gsm"\ndriver = "slurm"\nmethod = "FIFO"\n[slurm]\n{api}', encoding="utf-8")
    for mode in (0o644, 0o600):
        tokens.chmod(mode)
        for words in (
            ["serve", str(tmp_path / "no.gsm"), "--token-file", str(tokens)],
            ["drive", str(cluster), "--check"],
        ):
            assert main(words) != 0
            told = capsys.readouterr().err
            assert ("GSM5510" in told) == (mode == 0o644), told
            assert "GSM1001" in told
    assert set(SECRETS) <= set(PATHS)
