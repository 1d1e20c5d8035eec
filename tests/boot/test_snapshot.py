"""`sandbox snapshot`: what is written anew, what is refused, and which programs are stopped and started."""

import io
import json
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.boot import snapshot
from sandbox_server.boot.snapshot import FIRST, PROGRAMS, Programs, Refused, bind, prepare, read, release, renew_files, require_new
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.snapshots.connections import OuterConnection
from sandbox_server.settings import BadSettings, Paths, Settings, load

OLD, NEW = "key-of-the-origin", "key-of-the-copy-"
ORIGIN = "0123456789abcdef"
ENVIRON = {
    "SANDBOX_API_KEY": OLD,
    "IDENTITY_SANDBOX_ID": ORIGIN,
    "JWT_JWKS_URL": "https://id.example/keys",
    "JWT_AUDIENCE": "a",
    "TZ": "UTC",
}


class Api:
    """What answers in the API's place, and remembers."""

    def __init__(self, path: str) -> None:
        self.asked: list[str] = []
        self.snapshot: str | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as file:
                line = file.readline()
                if line:
                    file.write(json.dumps(self._answer(json.loads(line))).encode() + b"\n")

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request["op"])
        if request["op"] == "prepare":
            self.snapshot = "s-1"
        told = {"snapshot": self.snapshot, "token": "t-1", "sandbox_id": ORIGIN}
        return {"refused": "not the token"} if request.get("token", "t-1") != "t-1" else {"ok": told}


class Supervisor(Programs):
    """Remembers what is stopped and started."""

    def __init__(self, *, fails: bool = False) -> None:
        self.done: list[str] = []
        self._fails = fails

    def stop(self, names: tuple[str, ...]) -> None:
        if self._fails:
            raise Refused("no supervisor")
        self.done.append(f"stop {' '.join(names)}")

    def start(self, names: tuple[str, ...]) -> None:
        self.done.append(f"start {' '.join(names)}")


STOPPED, STARTED = f"stop {' '.join(PROGRAMS)}", [f"start {' '.join(FIRST)}", f"start {' '.join(PROGRAMS)}"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "boot").mkdir()
    (tmp_path / "agent").mkdir()
    paths = Paths(run=str(tmp_path), agent_run=f"{tmp_path}/agent", boot=f"{tmp_path}/boot")
    Path(paths.environ).write_text(json.dumps(ENVIRON))
    made = replace(load(ENVIRON), paths=paths)
    Keyring(paths.run, paths.agent_run).prepare((0, 0), (0, 0), with_api_key=True)
    return made


@pytest.fixture
def api(settings: Settings) -> Iterator[Api]:
    with socket.socket(socket.AF_UNIX) as gateway:
        gateway.bind(settings.paths.socket("gateway"))
        gateway.listen()
        made = Api(settings.paths.socket("snapshot"))
        yield made
        made.close()


def test_prepare_stops_what_reaches_outside_and_waits_for_its_connections(settings: Settings, api: Api) -> None:
    seen = iter([[OuterConnection("a:1", "b:2", 990)], []])
    programs = Supervisor()
    told = prepare(settings, programs, lambda: next(seen), 60)
    assert (api.asked, programs.done) == (["prepare"], [STOPPED])
    assert (told["snapshot"], told["token"], told["left_connected"]) == ("s-1", "t-1", [])


def test_prepare_says_who_does_not_let_go(settings: Settings, api: Api) -> None:
    told = prepare(settings, Supervisor(), lambda: [OuterConnection("a:1", "b:2", 1000)], 0.1)
    assert told["left_connected"] == [{"local": "a:1", "remote": "b:2", "uid": 1000}]


def test_what_cannot_be_prepared_goes_on(settings: Settings, api: Api) -> None:
    programs = Supervisor(fails=True)
    with pytest.raises(Refused, match="no supervisor"):
        prepare(settings, programs)
    assert (api.asked, programs.done) == (["prepare", "release"], STARTED)


def test_release_starts_them_only_with_the_token(settings: Settings, api: Api) -> None:
    programs = Supervisor()
    with pytest.raises(Refused, match="not the token"):
        release(settings, programs, "x")
    assert programs.done == []
    release(settings, programs, "t-1")
    assert programs.done == STARTED


def test_bind_writes_first_then_tells_the_api_then_opens(settings: Settings, api: Api, tmp_path: Path) -> None:
    programs = Supervisor()
    api.snapshot = "s-1"
    told = bind(settings, programs, {"api_key": NEW, "sandbox_id": "copy-1"})
    assert (api.asked, programs.done, told["api_key"]) == (["status", "bind"], STARTED, NEW)
    assert json.loads((tmp_path / "identity.json").read_text())["id"] == "copy-1"


def test_what_is_not_prepared_is_not_bound_and_not_changed(settings: Settings, api: Api, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="not prepared"):
        bind(settings, Supervisor(), {})
    assert api.asked == ["status"]
    assert not (tmp_path / "identity.json").exists()


def test_everything_that_opens_the_origin_is_gone(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "tickets" / "one").touch()
    for name in ("agent-keys.json", "shares.json", "secrets.json"):
        (tmp_path / name).write_text("{}")
    ring = Keyring(settings.paths.run, settings.paths.agent_run)
    before = {ring.placeholder_key(), *(ring.read(name) for name in ("session-key", "api-key", "agent-token"))}
    key = renew_files(settings, ENVIRON, {})
    after = {ring.placeholder_key(), *(ring.read(name) for name in ("session-key", "api-key", "agent-token"))}
    assert before.isdisjoint(after)
    assert key in after
    assert list((tmp_path / "tickets").iterdir()) == []
    assert not [name for name in ("agent-keys.json", "shares.json", "secrets.json") if (tmp_path / name).exists()]
    written = json.loads(Path(settings.paths.environ).read_text())
    assert written == {"TZ": "UTC"}


def test_signing_keys_differ_each_time(settings: Settings, tmp_path: Path) -> None:
    keys = set()
    for _ in range(2):
        renew_files(settings, ENVIRON, {})
        keys.add((tmp_path / "identity-keys.json").read_text())
    assert len(keys) == 2


def test_a_copy_keeps_its_tenant_and_nothing_else_of_the_binding(settings: Settings, tmp_path: Path) -> None:
    binding = {"tenant": "acme", "task": "t-1", "labels": {"a": "b"}, "bound_at": 7.0, "version": 3}
    (tmp_path / "identity.json").write_text(json.dumps({"id": ORIGIN, "binding": binding}))
    renew_files(settings, ENVIRON, {})
    found = json.loads((tmp_path / "identity.json").read_text())
    assert found["id"] != ORIGIN
    assert found["binding"] == {"tenant": "acme", "task": None, "labels": {}, "bound_at": 7.0, "version": 4}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"api_key": OLD}, "api_key is the origin's"),
        ({"api_key": f" {OLD}\n"}, "api_key is the origin's"),
        ({"api_key": "short"}, "less than"),
        ({"sandbox_id": ORIGIN}, "sandbox_id is the origin's"),
        ({"JWT_JWKS_URL": "https://id.example/keys"}, "JWT_AUDIENCE"),
        ({"JWT_JWKS_URL": "https://id.example/keys", "JWT_AUDIENCE": "a"}, "JWT_AUDIENCE"),
    ],
)
def test_no_part_of_the_origins_identity_is_taken(settings: Settings, given: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        require_new(settings, ENVIRON, given, ORIGIN)


def test_keys_of_the_origins_files_and_its_signing_key_are_not_taken(settings: Settings, tmp_path: Path) -> None:
    made = Keyring(settings.paths.run, settings.paths.agent_run).read("api-key") or ""
    with pytest.raises(Refused, match="api_key is the origin's"):
        require_new(settings, {}, {"api_key": made}, ORIGIN)
    renew_files(settings, ENVIRON, {})
    pem = json.loads((tmp_path / "identity-keys.json").read_text())["private"]
    with pytest.raises(Refused, match="identity_key is the origin's"):
        require_new(settings, {}, {"identity_key": f"{pem}\n"}, ORIGIN)


def test_tokens_are_taken_with_an_audience_of_the_copys_own(settings: Settings) -> None:
    given = {"JWT_JWKS_URL": "https://id.example/keys", "JWT_AUDIENCE": "copy-1"}
    require_new(settings, ENVIRON, given, ORIGIN)
    renew_files(settings, ENVIRON, given)
    assert json.loads(Path(settings.paths.environ).read_text()) == {"TZ": "UTC", **given}


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away, which needs root")
def test_a_copy_takes_no_keys_of_tokens_that_the_agent_could_change(settings: Settings, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text("{}")
    os.chown(keys, settings.agent.uid, 0)
    before = Path(settings.paths.environ).read_text()
    with pytest.raises(BadSettings, match=r"JWT_JWKS_FILE names .* could change"):
        renew_files(settings, ENVIRON, {"JWT_JWKS_FILE": str(keys), "JWT_AUDIENCE": "copy-1"})
    assert Path(settings.paths.environ).read_text() == before


def test_a_signing_key_that_is_none_is_refused(settings: Settings) -> None:
    with pytest.raises(Refused, match="identity_key"):
        renew_files(settings, ENVIRON, {"identity_key": "x"})


@pytest.mark.parametrize(
    "text", ["[]", "{", "1", '{"api_key": 1}', '{"api_key": ""}', '{"USER": "root"}', '{"api_key": "' + "x" * 70000 + '"}']
)
def test_an_identity_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        read(io.BytesIO(text.encode()))


def test_an_empty_identity_is_all_random() -> None:
    assert read(io.BytesIO(b"")) == {}
    assert read(io.BytesIO(b"{}")) == {}


def test_what_cannot_be_asked_says_so_and_fails(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="does not answer"):
        snapshot.run("prepare", lambda: settings, token="", given=io.BytesIO())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), BadSettings("USER must not be root")])
def test_who_may_not_read_the_settings_is_told_so_without_a_traceback(error: Exception) -> None:
    def refused() -> Settings:
        raise error

    with pytest.raises(SystemExit, match="sandbox snapshot: "):
        snapshot.run("bind", refused, token="", given=io.BytesIO())


def test_the_agents_key_of_the_origin_is_gone_and_the_copy_has_its_own(settings: Settings, api: Api) -> None:
    ring = Keyring(settings.paths.run, settings.paths.agent_run)
    ring.keep_agent_key((os.getuid(), os.getgid()), None)
    old, api.snapshot = ring.read("agent-key"), "s-1"
    told = bind(settings, Supervisor(), {})
    assert told["agent_key"] == ring.read("agent-key")
    assert told["agent_key"] not in (None, old, told["api_key"])


def test_a_copy_takes_the_agents_key_that_is_given_and_neither_the_origins_nor_the_owners(settings: Settings) -> None:
    ring = Keyring(settings.paths.run, settings.paths.agent_run)
    ring.keep_agent_key((os.getuid(), os.getgid()), None)
    of_setting = {**ENVIRON, "SANDBOX_AGENT_KEY": "a-key-of-the-settings"}
    for wrong in (ring.read("agent-key"), "a-key-of-the-settings", "short"):
        with pytest.raises(Refused, match="agent_key"):
            require_new(settings, of_setting, {"agent_key": str(wrong)}, ORIGIN)
    with pytest.raises(Refused, match="agent_key is api_key"):
        require_new(settings, ENVIRON, {"agent_key": NEW, "api_key": NEW}, ORIGIN)
    require_new(settings, ENVIRON, {"agent_key": NEW}, ORIGIN)
    renew_files(settings, ENVIRON, {"agent_key": NEW})
    assert ring.read("agent-key") == NEW
