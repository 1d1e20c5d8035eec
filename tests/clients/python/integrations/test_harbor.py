"""The environment as Harbor calls it, with a server that answers as a test says; tests/image runs a whole task in a sandbox."""

import asyncio
import io
import shlex
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import DONE, boxed

pytest.importorskip("harbor", reason="tests/image/test_integrations.py runs these with the framework")
WRITTEN = {"file_path": "/b", "file_size": 1, "success": True}
OK = {"status": "completed", "exit_code": 0, "stdout": "", "stderr": ""}
FAILED = {**OK, "exit_code": 1, "stderr": "no such file"}


def made(folder: Path, image: str | None = "tandem", **options: Any) -> Any:
    """An environment that is not started."""
    from harbor.models.task.config import EnvironmentConfig
    from harbor.models.trial.paths import TrialPaths
    from tandem.integrations.harbor import SandboxEnvironment

    task = EnvironmentConfig(docker_image=image, workdir="/w", env={"NAME": "Ada"})
    paths = TrialPaths(trial_dir=folder)
    return SandboxEnvironment(
        environment_dir=folder, environment_name="e", session_id="s", trial_paths=paths, task_env_config=task, **options
    )


def started(server: Server, folder: Path) -> Any:
    environment = made(folder)
    environment._running = boxed(server)
    return environment


def words(server: Server, number: int = -1) -> list[str]:
    """What bash was given: sudo, its options and the command."""
    return shlex.split(server.body(number)["command"])


def test_a_command_is_roots_or_another_users_with_the_tasks_variables(server: Server, tmp_path: Path) -> None:
    environment = started(server, tmp_path)
    server.then(200, DONE).then(200, DONE).then(200, DONE)
    done = asyncio.run(environment.exec("echo a b", timeout_sec=7))
    assert (done.stdout, done.stderr, done.return_code) == ("out\n", "err\n", 3)
    assert words(server) == ["sudo", "-n", "-H", "--preserve-env=NAME", "-u", "root", "--", "bash", "-c", "echo a b"]
    assert (server.body()["exec_dir"], server.body()["env"], server.body()["hard_timeout"]) == ("/w", {"NAME": "Ada"}, 7)
    asyncio.run(environment.exec("c", cwd="/x", env={"B": "2"}, user="gem"))
    assert words(server)[3:6] == ["--preserve-env=NAME,B", "-u", "gem"]
    assert server.body()["exec_dir"] == "/x"
    asyncio.run(environment.exec("c", user=1000))
    assert words(server)[5] == "#1000"


def test_a_command_that_was_stopped_is_a_failure(server: Server, tmp_path: Path) -> None:
    server.then(200, {**OK, "status": "timed_out", "exit_code": None})
    with pytest.raises(RuntimeError, match="timed_out"):
        asyncio.run(started(server, tmp_path).exec("sleep 9", timeout_sec=1))


def test_what_is_uploaded_is_put_in_place_by_root_and_a_failure_is_told(server: Server, tmp_path: Path) -> None:
    environment = started(server, tmp_path)
    source = tmp_path / "it's"
    source.write_bytes(b"\0\xff")
    source.chmod(0o750)
    server.then(200, WRITTEN).then(200, OK)
    asyncio.run(environment.upload_file(source, "/a/it's"))
    assert b"\0\xff" in server.asked[0].content
    assert "chmod 750 -- '/a/it'\"'\"'s'" in words(server)[-1]
    server.then(200, WRITTEN).then(200, FAILED)
    with pytest.raises(RuntimeError, match="no such file"):
        asyncio.run(environment.upload_dir(tmp_path, "/a"))


def test_a_folder_comes_back_without_links_that_lead_out_of_it(server: Server, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    server.then(200, OK)
    server.answers.append(httpx.Response(200, content=packed.getvalue()))
    server.then(200, OK)
    with pytest.raises(tarfile.FilterError):
        asyncio.run(started(server, tmp_path).download_dir("/a", tmp_path / "a"))
    assert words(server, 0)[-1].startswith("umask 077; tar -c -C /a -f - . > /tmp/harbor-")
    assert words(server)[-1].startswith("rm -f /tmp/harbor-")


def test_a_file_comes_back_as_it_is(server: Server, tmp_path: Path) -> None:
    server.then(200, OK)
    server.answers.append(httpx.Response(200, content=b"\0\xff"))
    server.then(200, OK)
    asyncio.run(started(server, tmp_path).download_file("/a/b", tmp_path / "c" / "b"))
    assert (tmp_path / "c" / "b").read_bytes() == b"\0\xff"


def test_a_task_without_an_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names no docker_image"):
        made(tmp_path, image=None)
    assert made(tmp_path, image=None, url="http://box").options.url == "http://box"
    with pytest.raises(ValueError, match="Unknown option 'size'"):
        made(tmp_path, size=2)


def test_an_environment_that_is_not_started_runs_nothing_and_is_stopped(tmp_path: Path) -> None:
    environment = made(tmp_path)
    with pytest.raises(RuntimeError, match="not started"):
        asyncio.run(environment.exec("c"))
    asyncio.run(environment.stop(delete=True))
