"""Folders that are synchronised with a store: a directory, and a bucket of a real server of S3."""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.archive_server import TOKEN, archive_server
from tests.image.clouds import HOST
from tests.image.container import Sandbox
from tests.patience import until
from tests.s3_server import free_port, request, s3_server

Start = Callable[..., Sandbox]
KEY, SECRET = "AKIATESTOFFOLDERS", "secret-of-the-store-0123456789"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Its address on this machine."""
    with s3_server(free_port()) as address:
        yield address


def folders(address: str, **stores: str) -> dict[str, str]:
    """Settings with a folder in the home for each store."""
    declared = {name: {"path": f"/home/gem/{name}", "store": store} for name, store in stores.items()}
    return {
        "FOLDERS": json.dumps(declared),
        "FOLDERS_S3_ENDPOINT": f"http://{HOST}:{address.rpartition(':')[2]}",
        "FOLDERS_S3_ACCESS_KEY_ID": KEY,
        "FOLDERS_S3_SECRET_ACCESS_KEY": SECRET,
    }


def listed(sandbox: Sandbox) -> dict[str, Any]:
    """The folders by name."""
    found = sandbox.request("GET", "/v1/folders").json()["data"]["folders"]
    return {each["name"]: each for each in found}


def began(sandbox: Sandbox) -> None:
    """Wait until every folder was synchronised once."""
    until(lambda: all(each["state"] == "synchronised" for each in listed(sandbox).values()), told=lambda: str(listed(sandbox)))


def sync(sandbox: Sandbox, name: str) -> dict[str, Any]:
    """Synchronise one now, and give what that did."""
    answer = sandbox.request("POST", f"/v1/folders/{name}/sync")
    assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()["data"]
    return done


def shell(sandbox: Sandbox, command: str) -> str:
    """What a command of the agent prints."""
    done = sandbox.run("sh", "-c", command)
    assert done.code == 0, done.stderr
    return done.stdout


def test_two_computers_share_a_folder_and_lose_nothing_where_both_change_a_file(start_sandbox: Start, s3: str) -> None:
    first = start_sandbox(env=folders(s3, shared="s3://kept/shared"))
    began(first)
    shell(first, "mkdir -p ~/shared/a && echo one > ~/shared/a/file.txt && printf '#!/bin/sh\\n' > ~/shared/run && chmod +x ~/shared/run")
    assert sync(first, "shared") | {"left_out": []} == {
        "version": 1,
        "sent": 2,
        "written": 0,
        "removed": 0,
        "conflicts": [],
        "left_out": [],
    }
    second = start_sandbox(env=folders(s3, shared="s3://kept/shared"))
    began(second)
    assert shell(second, "cat ~/shared/a/file.txt; test -x ~/shared/run && echo runs") == "one\nruns\n"
    shell(first, "echo of the first > ~/shared/a/file.txt")
    shell(second, "echo of the second > ~/shared/a/file.txt; rm ~/shared/run")
    sync(first, "shared")
    assert sync(second, "shared")["conflicts"] == ["a/file.conflict-2.txt"]
    assert shell(second, "cat ~/shared/a/file.txt ~/shared/a/file.conflict-2.txt") == "of the second\nof the first\n"
    assert sync(first, "shared")["removed"] == 1
    assert shell(first, "cat ~/shared/a/file.txt ~/shared/a/file.conflict-2.txt; ls ~/shared") == "of the second\nof the first\na\n"


def test_a_folder_is_in_its_store_after_a_checkpoint_and_after_the_end(start_sandbox: Start, s3: str) -> None:
    sandbox = start_sandbox(env=folders(s3, ended="s3://kept/ended"))
    began(sandbox)
    shell(sandbox, "echo early > ~/ended/early")
    assert sandbox.request("POST", "/v1/checkpoints", json={}).status_code == 200
    until(lambda: (listed(sandbox)["ended"]["last"] or {}).get("version") == 1)
    shell(sandbox, "echo late > ~/ended/late")
    sandbox.stop()
    after = start_sandbox(env=folders(s3, ended="s3://kept/ended"))
    began(after)
    assert shell(after, "cat ~/ended/early ~/ended/late") == "early\nlate\n"


def test_what_the_agent_wrote_while_the_store_was_away_waits_and_is_there_later(start_sandbox: Start) -> None:
    port = free_port()
    env = folders(f"http://x:{port}", kept="s3://kept/away")
    with s3_server(port):
        sandbox = start_sandbox(env=env, args=["--volume=/run/sandbox-folders"])
        began(sandbox)
    shell(sandbox, "echo precious > ~/kept/file")
    answer = sandbox.request("POST", "/v1/folders/kept/sync")
    assert (answer.status_code, listed(sandbox)["kept"]["state"]) == (503, "failed"), answer.text
    sandbox.stop()
    assert "waits for its store" in sandbox.logs()
    volumes = [f"--volumes-from={sandbox.name}"]
    with s3_server(port) as address:
        after = start_sandbox(env=env, args=volumes)
        began(after)
        assert shell(after, "cat ~/kept/file") == "precious\n"
        assert b"versions/9999999998.json" in request(address, "GET", "/kept?list-type=2")
        assert not listed(after)["kept"]["waiting"]


def test_an_undo_is_a_change_like_any_other_and_the_store_keeps_what_was_undone(start_sandbox: Start, s3: str) -> None:
    sandbox = start_sandbox(env=folders(s3, undone="s3://kept/undone"))
    began(sandbox)
    shell(sandbox, "echo before > ~/undone/file")
    made = sandbox.request("POST", "/v1/checkpoints", json={}).json()["data"]["checkpoint"]["id"]
    sync(sandbox, "undone")
    shell(sandbox, "echo after > ~/undone/file; echo more > ~/undone/more")
    assert sync(sandbox, "undone")["version"] == 2
    assert sandbox.request("POST", f"/v1/checkpoints/{made}/restore", json={}).status_code == 200
    assert sync(sandbox, "undone")["version"] == 3
    assert shell(sandbox, "cat ~/undone/file; ls ~/undone") == "before\nfile\n"
    old = json.loads(request(s3, "GET", "/kept/undone/versions/9999999997.json"))
    assert sorted(old["files"]) == ["file", "more"]
    assert request(s3, "GET", f"/kept/undone/blobs/{old['files']['more'][1]}") == b"more\n"


HOSTILE = """cd ~/hostile && ln -s /etc/passwd link && ln -s / root && mkfifo pipe && mkdir -p folder && ln -s .. folder/up
mkdir locked && echo x > locked/file && sudo chown -R root locked && sudo chmod 700 locked
echo fine > fine; printf 'a' > "$(printf 'new\\nline')"; sudo mknod null c 1 3; truncate -s 1T huge && rm huge"""


def test_a_hostile_folder_is_kept_as_far_as_it_has_regular_files_and_never_leaves_the_agents_rights(start_sandbox: Start, s3: str) -> None:
    sandbox = start_sandbox(env=folders(s3, hostile="s3://kept/hostile") | {"FOLDERS_MAX_FILES": "50", "FOLDERS_MAX_BYTES": "100000"})
    began(sandbox)
    shell(sandbox, HOSTILE)
    done = sync(sandbox, "hostile")
    assert {"link", "root", "pipe", "folder/up"} <= set(done["left_out"])
    stored = json.loads(request(s3, "GET", "/kept/hostile/versions/9999999998.json"))["files"]
    assert sorted(stored) == ["fine", "new\nline"]
    shell(sandbox, "cd ~/hostile && truncate -s 1T huge")
    assert sandbox.request("POST", "/v1/folders/hostile/sync").status_code == 413
    shell(sandbox, "cd ~/hostile && rm huge && seq 60 | xargs touch")
    assert sandbox.request("POST", "/v1/folders/hostile/sync").status_code == 413
    shell(sandbox, "cd ~/hostile && seq 60 | xargs rm; (while :; do date +%N >> restless; done) >/dev/null 2>&1 & echo")
    assert sync(sandbox, "hostile")["version"] >= 1
    assert sandbox.answers()


def test_neither_the_agent_nor_an_answer_gets_the_credentials_of_the_store(start_sandbox: Start, s3: str) -> None:
    sandbox = start_sandbox(env=folders(s3, secret="s3://kept/secret", local="directory"))
    began(sandbox)
    assert not [name for name in shell(sandbox, "env").splitlines() if name.startswith("FOLDERS")]
    found = sandbox.run("sh", "-c", f"sudo grep -rlF {SECRET} /proc/*/environ /run /etc /home 2>/dev/null | grep -v self | head")
    assert found.stdout == ""
    assert sandbox.run("sh", "-c", "sudo ls /run/sandbox-folders").code != 0
    assert SECRET not in sandbox.request("GET", "/v1/folders").text + sandbox.logs()
    assert sandbox.request("POST", "/v1/folders/other/sync").status_code == 404


@pytest.mark.parametrize("level", ["box", "users"])
def test_a_folder_in_a_directory_outlives_its_container_with_a_volume(start_sandbox: Start, level: str) -> None:
    env = {"FOLDERS": json.dumps({"notes": {"path": "/home/gem/notes", "store": "directory"}}), "BOX": "on" if level == "box" else "off"}
    sandbox = start_sandbox(env=env, args=["--volume=/run/sandbox-folders"])
    began(sandbox)
    shell(sandbox, "echo mine > ~/notes/file")
    sandbox.stop()
    after = start_sandbox(env=env, args=[f"--volumes-from={sandbox.name}"])
    began(after)
    assert shell(after, "cat ~/notes/file") == "mine\n"


def test_a_store_that_lies_about_paths_sizes_and_digests_is_refused_and_writes_nothing(start_sandbox: Start, s3: str) -> None:
    sandbox = start_sandbox(env=folders(s3, lied="s3://kept/lied"))
    began(sandbox)
    digest = "0" * 64
    lies = ({"../outside": [1, digest, False]}, {"/etc/x": [1, digest, False]}, {"a": [-1, digest, False]}, {"a": [1, "../x", False]})
    for files in (*lies, {"file": [5, digest, False]}):
        told = {"format": 1, "number": 1, "lineage": "x", "files": files}
        request(s3, "PUT", "/kept/lied/versions/9999999998.json", json.dumps(told).encode())
        request(s3, "PUT", f"/kept/lied/blobs/{digest}", b"other content than it says")
        answer = sandbox.request("POST", "/v1/folders/lied/sync")
        assert answer.status_code == 409, answer.text
    assert shell(sandbox, "ls -A ~/lied; ls ~/outside 2>/dev/null || true") == ""


def test_an_archive_of_another_program_is_a_folder_and_what_the_agent_changes_is_in_it(start_sandbox: Start) -> None:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as packed:
        entry = tarfile.TarInfo("a/file")
        entry.size = 4
        packed.addfile(entry, io.BytesIO(b"old\n"))
    with archive_server() as archive:
        archive.content = written.getvalue()
        address = f"http://{HOST}:{archive.port}/kept/notes.tar.gz"
        declared = {"FOLDERS": json.dumps({"notes": {"path": "/home/gem/notes", "store": address}}), "FOLDERS_HTTP_TOKEN": TOKEN}
        sandbox = start_sandbox(env=declared)
        began(sandbox)
        assert shell(sandbox, "cat ~/notes/a/file && echo new > ~/notes/b") == "old\n"
        assert sync(sandbox, "notes")["version"] == 2
        with tarfile.open(fileobj=io.BytesIO(archive.content)) as found:
            assert found.getnames() == [".", "a/file", "b"]
        archive.content = b"damaged"
        assert sandbox.request("POST", "/v1/folders/notes/sync").status_code == 409
        archive.answers = 503
        assert sandbox.request("POST", "/v1/folders/notes/sync").status_code == 503
        assert shell(sandbox, "cat ~/notes/a/file ~/notes/b; env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").count(TOKEN) == 0
        assert TOKEN not in sandbox.request("GET", "/v1/folders").text
