"""The process that runs the hooks before the services is control's, and knows nothing that was given to the container."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import early_start, hooks
from sandbox_server.boot.hooks import HookRun
from sandbox_server.settings import HooksSettings, Settings
from tests.patience import PATIENCE_SECONDS

CONTROL = 990


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], HookRun]:
    """Starts the process, with a program in the place of Python that shows its user, its words and its environment."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nreadlink /proc/$$/fd/1\nreadlink /proc/$$/fd/2\nid -u\necho "$@"\nenv\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("SANDBOX_API_KEY", "hunter2")

    def begin() -> HookRun:
        started = hooks.start(replace(Settings(), hooks=HooksSettings(pre_services="true", strict=True)))
        assert started
        assert started.process.wait(PATIENCE_SECONDS) == 0
        assert started.copier.wait(PATIENCE_SECONDS) == 0
        return started

    return begin


def test_without_a_hook_there_is_no_process() -> None:
    assert hooks.start(replace(Settings(), hooks=HooksSettings(post_ready="true"))) is None


def test_hooks_are_strict_if_the_settings_say_so(begin: Callable[[], HookRun]) -> None:
    assert begin().strict


def test_hooks_start_as_control_with_a_clean_environment_and_write_to_the_containers_output(
    begin: Callable[[], HookRun], capfd: pytest.CaptureFixture[str]
) -> None:
    begin()
    _, _, uid, words, *environment = capfd.readouterr().out.splitlines()
    assert (uid, words) == (str(CONTROL if os.geteuid() == 0 else os.geteuid()), "-I -m sandbox_server hooks")
    assert {line.partition("=")[0] for line in environment} == {*early_start.ENVIRONMENT, "PWD"}


def test_who_opens_the_other_end_of_its_output_gets_nothing_of_the_containers(
    begin: Callable[[], HookRun], capfd: pytest.CaptureFixture[str]
) -> None:
    begin()
    stdout, stderr, *_ = capfd.readouterr().out.splitlines()
    assert stdout == stderr
    assert stdout.startswith("pipe:")
    assert stdout not in (os.readlink("/proc/self/fd/1"), os.readlink("/proc/self/fd/2"))


def test_what_the_hooks_leave_running_is_heard_after_they_have_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\n(while [ ! -e /tmp/hooks-have-ended ]; do sleep 0.02; done; echo late) &\n")
    program.chmod(0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    ended = Path("/tmp/hooks-have-ended")
    ended.unlink(missing_ok=True)
    try:
        started = hooks.start(replace(Settings(), hooks=HooksSettings(init="true")))
        assert started
        assert started.process.wait(PATIENCE_SECONDS) == 0
        assert started.copier.poll() is None
        ended.touch()
        assert started.copier.wait(PATIENCE_SECONDS) == 0
    finally:
        ended.unlink(missing_ok=True)
    assert capfd.readouterr().out == "late\n"
