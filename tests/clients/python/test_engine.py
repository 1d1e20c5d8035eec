from pathlib import Path

import pytest
from tandem import engine
from tandem.errors import TandemError

FAKE = """#!/bin/sh
echo "$@" >>"$LOG"
case $1 in
  run) if [ -n "$HANG" ]; then exec sleep "$HANG"; fi; if [ -n "$REFUSE" ]; then echo "no such image" >&2; exit 125; fi; echo container-1 ;;
  port) echo "127.0.0.1:1234" ;;
esac
previous=
for word; do if [ "$previous" = --env-file ]; then cat "$word" >>"$LOG.settings"; stat -c %a "$word" >>"$LOG.mode"; fi; previous=$word; done
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that notes how it is called; the log."""
    program = tmp_path / "engine"
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("TANDEM_ENGINE", str(program))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_a_container_is_started_with_all_that_it_can_have_and_its_key_in_no_list_of_processes(docker: Path) -> None:
    started = engine.start_container("image", "mine", {"LOCALE": "C"})
    assert (started.url, started.container) == ("http://127.0.0.1:1234", "mine")
    run = docker.read_text().splitlines()[0]
    assert "--name mine image" in run
    assert f"seccomp={engine.PROFILE}" in run
    assert started.key not in run
    assert started.key not in repr(started)
    assert Path(f"{docker}.settings").read_text().splitlines() == ["LOCALE=C", f"SANDBOX_API_KEY={started.key}"]
    assert Path(f"{docker}.mode").read_text() == "600\n"
    engine.remove(started)
    assert docker.read_text().splitlines()[-1] == "rm --force --volumes mine"


def test_what_the_engine_refuses_is_said_in_its_words(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSE", "yes")
    with pytest.raises(TandemError, match="no such image"):
        engine.start_container("image", None, {})
    with pytest.raises(TandemError, match="one line"):
        engine.start_container("image", None, {"A": "b\nSANDBOX_API_KEY=c"})


def test_without_an_engine_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_ENGINE", "there-is-no-such-program")
    with pytest.raises(TandemError, match="TANDEM_ENGINE"):
        engine.start_container("image", None, {})


def test_an_engine_that_hangs_is_given_up_and_leaves_nothing(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "RUN_SECONDS", 0.5)
    monkeypatch.setenv("HANG", "30")
    with pytest.raises(TandemError, match=r"did not end within 0\.5 s"):
        engine.start_container("image", None, {})
    assert docker.read_text().splitlines()[-1].startswith("rm --force --volumes tandem-")
