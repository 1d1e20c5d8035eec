import json
from pathlib import Path

import httpx
import pytest
from tandem import engine
from tandem.errors import TandemError, Unreachable

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


def test_one_of_a_fleet_is_made_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if request.method == "PUT":
            return httpx.Response(200, json={"token": "t", "address": "http://a", "url": "http://gateway/s/1"})
        return httpx.Response(201, json={"id": "1", "name": "n", "state": "ready"})

    client = httpx.Client
    monkeypatch.setattr(httpx, "Client", lambda **more: client(**more, transport=httpx.MockTransport(answer)))
    started = engine.start_in_fleet("http://fleet/", "k", "n", {"A": "b"}, 60)
    assert (started.url, started.key) == ("http://gateway/s/1", "t")
    assert json.loads(asked[0].content) == {"name": "n", "environment": {"A": "b"}}
    engine.remove(started)
    assert (asked[-1].method, str(asked[-1].url)) == ("DELETE", "http://fleet/v1/sandboxes/1")


@pytest.mark.parametrize(
    ("status", "body"), [(403, {"message": "no"}), (201, {"id": "1", "name": "n", "state": "failed", "reason": "no image"})]
)
def test_a_fleet_that_refuses_or_fails_says_why(monkeypatch: pytest.MonkeyPatch, status: int, body: dict[str, str]) -> None:
    asked: list[str] = []
    client = httpx.Client

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        return httpx.Response(status, json=body)

    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(httpx, "Client", lambda **more: client(**more, transport=transport))
    with pytest.raises(TandemError, match=r"no|no image"):
        engine.start_in_fleet("http://fleet", "", None, {}, 60)
    assert asked == (["POST", "DELETE"] if status == 201 else ["POST"])


def test_a_fleet_that_is_away_is_said() -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        engine.start_in_fleet("http://127.0.0.1:1", "", None, {}, 1)


def test_an_engine_that_hangs_is_given_up_and_leaves_nothing(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "RUN_SECONDS", 0.5)
    monkeypatch.setenv("HANG", "30")
    with pytest.raises(TandemError, match=r"did not end within 0\.5 s"):
        engine.start_container("image", None, {})
    assert docker.read_text().splitlines()[-1].startswith("rm --force --volumes tandem-")
