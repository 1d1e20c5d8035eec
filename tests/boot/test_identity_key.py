"""The owner's key, for the user control alone."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import identity_key
from sandbox_server.settings import BadSettings, IdentitySettings, Paths, Settings, Users
from tests.identities import pem, stranger


def settings(folder: Path) -> Settings:
    identity = IdentitySettings(issuer="https://box.example", key_file=f"{folder}/key.pem")
    return replace(Settings(), identity=identity, paths=Paths(run=str(folder)), users=Users(control_uid=os.getuid()))


def test_it_is_copied_to_where_only_control_reads_it(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(pem(stranger()))
    identity_key.prepare(settings(tmp_path))
    copy = tmp_path / "identity-key.pem"

    assert copy.read_text() == pem(stranger())
    assert stat.S_IMODE(copy.stat().st_mode) == 0o400


def test_without_one_nothing_is_copied(tmp_path: Path) -> None:
    identity_key.prepare(replace(Settings(), paths=Paths(run=str(tmp_path))))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "key", "-----BEGIN PUBLIC KEY-----\n", "-----BEGIN PRIVATE KEY-----\n" + "x" * 70_000])
def test_a_file_that_holds_no_key_stops_the_start(tmp_path: Path, content: str) -> None:
    (tmp_path / "key.pem").write_text(content)
    with pytest.raises(BadSettings, match="IDENTITY_KEY_FILE"):
        identity_key.prepare(settings(tmp_path))


def test_what_is_no_file_stops_the_start_and_hangs_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="No such file"):
        identity_key.prepare(settings(tmp_path))
    os.mkfifo(tmp_path / "key.pem")
    with pytest.raises(BadSettings, match="must be a PEM file"):
        identity_key.prepare(settings(tmp_path))
