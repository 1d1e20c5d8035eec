"""Hooks that need the services: in order of priority, each within its time, all within theirs."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import lifecycle_hooks
from sandbox_server.drivers.spawn.process import Exit
from sandbox_server.settings import HooksSettings, Paths, Settings, ShutdownHook
from tests.patience import until


@pytest.fixture
def settings(tmp_path: Path, spawner: object) -> Settings:
    """Settings with a real spawner behind them."""
    (tmp_path / "spawn.sock").symlink_to(getattr(spawner, "socket"))  # noqa: B009 - the fixture's class is in a conftest
    return replace(Settings(), paths=Paths(run=str(tmp_path)))


def with_hooks(settings: Settings, *hooks: ShutdownHook, timeout: float = 30) -> Settings:
    """The settings with these shutdown hooks."""
    return replace(settings, hooks=HooksSettings(shutdown=hooks, shutdown_timeout=timeout))


def test_hooks_of_the_environment_and_registered_ones_run_as_the_agent(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    registered = [{"name": "flush", "command": "echo flushed", "timeout": 30, "priority": 1}]
    Path(settings.paths.run, "hooks.json").write_text(json.dumps(registered))
    lifecycle_hooks.shutdown(with_hooks(settings, ShutdownHook("save", "id -un")))
    assert capfd.readouterr().out.splitlines() == [
        "flushed",
        "hooks: flush ended with exit code 0",
        "gem",
        "hooks: save ended with exit code 0",
    ]


NOTE = "echo $(id -un) $HOOK $GREETING ${SANDBOX_API_KEY-no key}"


def with_both(settings: Settings, init: str, pre_services: str, **more: object) -> Settings:
    """The settings with these hooks before the services."""
    hooks = HooksSettings(init=f"HOOK=init; {init}", pre_services=f"HOOK=pre; {pre_services}", timeout=30)
    return replace(settings, hooks=replace(hooks, **more))  # type: ignore[arg-type] # fields of Hooks


def test_the_hooks_before_the_services_run_in_their_order_as_the_agent(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_API_KEY", "secret")
    assert lifecycle_hooks.before_services(with_both(settings, NOTE, NOTE))
    told = [line for line in capfd.readouterr().out.splitlines() if not line.startswith("hooks: ")]
    assert told == ["gem init no key", "gem pre no key"]


def test_a_hook_before_the_services_that_fails_is_told_and_the_next_one_runs(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    assert not lifecycle_hooks.before_services(with_both(settings, "exit 4", "kill -9 $$"))
    assert capfd.readouterr().out.splitlines() == [
        "hooks: RUN_HOOK_INIT ended with exit code 4",
        "hooks: RUN_HOOK_PRE_SERVICES ended with signal 9",
    ]


def test_where_hooks_are_strict_none_runs_after_one_that_failed(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    assert not lifecycle_hooks.before_services(with_both(settings, "exit 4", "echo never", strict=True))
    assert capfd.readouterr().out == "hooks: RUN_HOOK_INIT ended with exit code 4\n"


def test_a_hook_that_takes_too_long_is_killed_with_what_it_started(settings: Settings, home: Path) -> None:
    slow = f"sleep 600 & echo $! >{home}/pid; wait"
    assert not lifecycle_hooks.before_services(with_both(settings, slow, "true", timeout=3))
    until(lambda: is_gone(int((home / "pid").read_text())))


def test_what_a_hook_leaves_running_runs_on_and_may_still_write(settings: Settings, home: Path) -> None:
    service = f"(while [ -d {home} ]; do echo here; date +%N >{home}/alive; sleep 0.05; done) &"
    assert lifecycle_hooks.before_services(with_both(settings, service, "true"))
    before = (home / "alive").read_text() if (home / "alive").exists() else ""
    until(lambda: (home / "alive").exists() and (home / "alive").read_text() not in ("", before))


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_without_a_spawner_the_hooks_before_the_services_have_failed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle_hooks, "SPAWNER_SECONDS", 0.1)
    settings = replace(Settings(), paths=Paths(run=str(tmp_path)), hooks=HooksSettings(init="true"))
    assert not lifecycle_hooks.before_services(settings)
    assert capfd.readouterr().out.startswith("hooks: RUN_HOOK_INIT did not run: ")


def test_nothing_is_started_where_there_is_no_hook(tmp_path: Path) -> None:
    paths = Paths(run=str(tmp_path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as spawner:
        spawner.bind(paths.socket("spawn"))
        spawner.listen()
        lifecycle_hooks.shutdown(replace(Settings(), paths=paths))
        with pytest.raises(BlockingIOError):
            spawner.accept()


def test_a_hook_that_fails_is_told_and_holds_up_nobody(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    lifecycle_hooks.shutdown(with_hooks(settings, ShutdownHook("bad", "exit 7", priority=1), ShutdownHook("good", "true", priority=2)))
    assert capfd.readouterr().out.splitlines() == ["hooks: bad ended with exit code 7", "hooks: good ended with exit code 0"]


def test_a_hook_that_takes_too_long_is_killed(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    lifecycle_hooks.shutdown(with_hooks(settings, ShutdownHook("slow", "sleep 600", timeout=0.2)))
    assert capfd.readouterr().out == "hooks: slow was killed after 0.2 seconds\n"


def test_all_hooks_together_have_a_limit(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    hooks = [ShutdownHook("one", "sleep 600", priority=1), ShutdownHook("two", "echo never", priority=2)]
    lifecycle_hooks.shutdown(with_hooks(settings, *hooks, timeout=0.3))
    assert capfd.readouterr().out == "hooks: the shutdown hooks took more than 0.3 seconds; the rest was left out\n"


def test_without_a_spawner_a_hook_says_why_it_did_not_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = replace(Settings(), paths=Paths(run=str(tmp_path)))
    lifecycle_hooks.shutdown(with_hooks(settings, ShutdownHook("save", "true")))
    assert capfd.readouterr().out.startswith("hooks: save did not run: ")


def test_hooks_of_one_priority_run_together_and_the_lowest_comes_first() -> None:
    hooks = [ShutdownHook(name, "true", priority=priority) for name, priority in (("a", 5), ("b", 1), ("c", 5))]
    assert [[hook.name for hook in together] for together in lifecycle_hooks.by_priority(hooks)] == [["b"], ["a", "c"]]


@pytest.mark.parametrize(
    ("ended", "words"), [(Exit(0, None), "exit code 0"), (Exit(None, 9), "signal 9"), (Exit(None, None), "nobody to see it")]
)
def test_an_ending_is_told_as_it_was_observed(ended: Exit, words: str) -> None:
    assert lifecycle_hooks.exit_text(ended) == words


class Api:
    """Answers `/readyz` with each of these statuses in turn, and stays at the last."""

    def __init__(self, path: str, statuses: list[int]) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self.statuses = statuses
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self.statuses:
            connection, _ = self._listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(f"HTTP/1.1 {self.statuses.pop(0)} .\r\nContent-Length: 0\r\n\r\n".encode())

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


@pytest.fixture
def api(settings: Settings) -> Iterator[Api]:
    """An API that is ready when it is asked for the third time."""
    served = Api(settings.paths.socket("api"), [503, 503, 200])
    yield served
    served.close()


def test_the_hook_for_readiness_waits_until_every_component_is_ready(
    settings: Settings, api: Api, capfd: pytest.CaptureFixture[str]
) -> None:
    lifecycle_hooks.post_ready(replace(settings, hooks=HooksSettings(post_ready="echo ready")))
    assert api.statuses == []
    assert capfd.readouterr().out == "ready\nhooks: RUN_HOOK_POST_READY ended with exit code 0\n"


def test_an_api_that_is_not_there_is_not_ready(tmp_path: Path) -> None:
    assert not lifecycle_hooks.is_ready(str(tmp_path / "api.sock"))
