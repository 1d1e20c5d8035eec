"""The worker's requests, and the process itself."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.profiles.worker import answer
from tests.drivers.profiles.made import VERSION, content, make_profile, paths


class Kept:
    """A root, a default profile, and the version of Chromium that is there."""

    def __init__(self, folder: Path) -> None:
        self.root, self.default, self.installed = folder / "root", folder / "default", VERSION
        self.root.mkdir()

    def asked(self, do: str, **fields: object) -> dict[str, Any]:
        """The fields of a request."""
        return {"do": do, "root": str(self.root), "default": str(self.default), "installed": self.installed, "max_bytes": 1 << 30, **fields}

    def done(self, do: str, **fields: object) -> dict[str, Any]:
        """The result of one that succeeds."""
        reply = answer(self.asked(do, **fields))
        assert "done" in reply, reply
        done: dict[str, Any] = reply["done"]
        return done

    def reason(self, do: str, **fields: object) -> str | None:
        """Why one is refused."""
        found: str | None = answer(self.asked(do, **fields))["problem"]["reason"]
        return found


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_default_is_copied_under_a_name_and_is_itself_unchanged(kept: Kept) -> None:
    make_profile(kept.default)
    before = content(kept.default)
    kept.done("duplicate", name="default", to="mail")
    copy = kept.root / "mail/chromium"
    assert content(copy) == {path: found for path, found in before.items() if path in paths(kept.default)}
    assert content(kept.default) == before
    assert kept.reason("duplicate", name="default", to="mail") == "exists"


def test_profiles_are_described(kept: Kept) -> None:
    make_profile(kept.default)
    kept.done("duplicate", name="default", to="mail")
    kept.done("create", name="empty")
    (kept.root / "mail/chromium/Last Version").write_text("900.0.0.0")
    default, empty, mail = kept.done("list")["profiles"]
    assert (default["name"], default["chromium"], default["created"], default["problem"]) == ("default", VERSION, None, None)
    assert (empty["name"], empty["bytes"], empty["chromium"], empty["problem"]) == ("empty", 0, None, None)
    assert (mail["name"], "of Chromium 900.0.0.0" in mail["problem"]) == ("mail", True)
    assert mail["bytes"] > 4000


def test_one_that_is_damaged_or_newer_is_neither_used_nor_copied_nor_lost(kept: Kept) -> None:
    make_profile(kept.default)
    for name, path, text, reason in (("a", "Last Version", "900.0.0.0", "newer_chromium"), ("b", "Local State", "{", "damaged")):
        kept.done("duplicate", name="default", to=name)
        (kept.root / name / "chromium" / path).write_text(text)
        before = content(kept.root)
        assert kept.reason("check", name=name, make=False) == reason
        assert kept.reason("duplicate", name=name, to="c") == reason
        assert kept.reason("pack", name=name, passphrase="p") == reason
        assert content(kept.root) == before


def test_one_that_is_missing_is_made_for_a_start_that_wants_it(kept: Kept) -> None:
    assert kept.asked("check")["do"] == "check"
    assert answer(kept.asked("check", name="new", make=False))["problem"]["kind"] == "not_found"
    kept.done("check", name="new", make=True)
    kept.done("check", name="new", make=False)
    kept.done("delete", name="new")
    assert os.listdir(kept.root) == [".drafts"]


def test_no_room_is_told_and_leaves_nothing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    make_profile(kept.default)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert kept.reason("duplicate", name="default", to="mail") == "full"
    assert os.listdir(kept.root) == [".drafts"]
    assert os.listdir(kept.root / ".drafts") == []


def test_the_process_packs_and_unpacks_what_comes_by_descriptor(kept: Kept, tmp_path: Path) -> None:
    make_profile(kept.default)
    packed = tmp_path / "packed"
    with open(packed, "wb") as out:
        assert ran(kept.asked("pack", name="default", passphrase="a long passphrase"), out=out) == {"done": {"files": 5}}
    assert b"login" not in packed.read_bytes()
    with open(packed, "rb") as given:
        assert ran(kept.asked("unpack", name="mail", passphrase="a long passphrase"), given=given) == {"done": {"files": 5}}
    assert content(kept.root / "mail/chromium").keys() == set(paths(kept.default))
    with open(packed, "rb") as given:
        assert ran(kept.asked("unpack", name="other", passphrase="another"), given=given)["problem"]["reason"] == "passphrase"
    assert sorted(os.listdir(kept.root)) == [".drafts", "mail"]


def test_an_export_of_a_newer_chromium_becomes_no_profile(kept: Kept, tmp_path: Path) -> None:
    make_profile(kept.default)
    with open(tmp_path / "packed", "wb") as out:
        ran(kept.asked("pack", name="default", passphrase="a long passphrase"), out=out)
    kept.installed = "100.0.0.0"
    with open(tmp_path / "packed", "rb") as given:
        reply = ran(kept.asked("unpack", name="mail", passphrase="a long passphrase"), given=given)
    assert reply["problem"]["reason"] == "newer_chromium"
    assert os.listdir(kept.root) == [".drafts"]


def ran(asked: dict[str, Any], given: Any = subprocess.DEVNULL, out: Any = subprocess.DEVNULL) -> dict[str, Any]:
    """The reply of a process with a request."""
    theirs, ours = os.pipe()
    answers, replies = os.pipe()
    os.write(ours, json.dumps(asked).encode())
    os.close(ours)
    code = f"import os; os.dup2({theirs}, 3); os.dup2({replies}, 4); from sandbox_server.drivers.profiles.worker import main; main()"
    done = subprocess.run([sys.executable, "-c", code], pass_fds=(theirs, replies), stdin=given, stdout=out, timeout=60, check=False)
    os.close(theirs)
    os.close(replies)
    with open(answers, "rb") as told:
        reply: dict[str, Any] = json.loads(told.read())
    assert done.returncode == 0
    return reply
