from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox_server.core.errors import NotFound, ResourceExhausted
from sandbox_server.drivers.credentials import agent_keys as module
from sandbox_server.drivers.credentials.agent_keys import AgentKeys, is_agent_key
from sandbox_server.drivers.storage.json_file import JsonFile
from tests.patience import PATIENCE_SECONDS
from tests.threads import Overtaken


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(tmp_path: Path, clock: Clock) -> AgentKeys:
    return AgentKeys(JsonFile(str(tmp_path / "agent-keys.json")), clock)


def test_a_key_is_found_until_it_expires(keys: AgentKeys, clock: Clock) -> None:
    key, text = keys.create({"view", "files"}, 60, caller="owner#1", label="Claude")

    assert is_agent_key(text)
    assert keys.find(text) == key
    assert keys.holds(key.name)
    assert keys.holds(f"{key.name}#0a1b2c"), "who came by a ticket that was made with it"
    assert (key.scopes, key.expires, key.label) == (("files", "view"), 1060.0, "Claude")
    clock.seconds = 1060.0
    assert keys.find(text) is None
    assert not keys.holds(key.name)
    assert keys.all() == []


def test_a_revoked_key_is_gone(keys: AgentKeys) -> None:
    first, text = keys.create({"view"}, 60, caller="owner#1")
    second, _ = keys.create({"view"}, 60, caller="owner#1")
    keys.revoke(first.id)

    assert keys.find(text) is None
    assert keys.all() == [second]
    with pytest.raises(NotFound):
        keys.revoke(first.id)


def test_keys_outlive_the_process_and_no_file_has_them(keys: AgentKeys, tmp_path: Path, clock: Clock) -> None:
    key, text = keys.create({"view", "shell"}, 60, caller="owner#1")
    again = AgentKeys(JsonFile(str(tmp_path / "agent-keys.json")), clock)

    assert again.find(text) == key
    assert text not in (tmp_path / "agent-keys.json").read_text()


def test_there_is_an_end_to_their_number(keys: AgentKeys, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 2)
    for _ in range(2):
        keys.create({"view"}, 60, caller="owner#1")
    with pytest.raises(ResourceExhausted):
        keys.create({"view"}, 60, caller="owner#1")
    clock.seconds += 61
    assert keys.create({"view"}, 60, caller="owner#1")


@pytest.mark.parametrize("text", ["", "tandem_", "tandem_short", "sh-" + "x" * 43, "tandem_" + "x" * 44, "tandem_" + "/" * 43])
def test_other_strings_are_no_keys(keys: AgentKeys, text: str) -> None:
    assert not is_agent_key(text)
    assert keys.find(text) is None


def test_a_key_that_is_revoked_while_another_is_made_stays_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = JsonFile(str(tmp_path / "agent-keys.json"))
    keys = AgentKeys(file)
    old, text = keys.create({"view"}, 60, caller="owner#1")
    write = Overtaken(file.write)
    monkeypatch.setattr(file, "write", write)
    monkeypatch.setattr(keys, "_changing", write.lock())
    with ThreadPoolExecutor(2) as pool:
        made = pool.submit(keys.create, {"view"}, 60, caller="owner#1")
        assert write.begun.wait(PATIENCE_SECONDS)
        pool.submit(keys.revoke, old.id).result(PATIENCE_SECONDS)
        _, new = made.result(PATIENCE_SECONDS)
    assert (keys.find(text), keys.find(new) is None) == (None, False)


def test_what_was_read_is_forgotten(keys: AgentKeys, tmp_path: Path) -> None:
    _, text = keys.create({"view"}, 60, caller="owner#1")
    (tmp_path / "agent-keys.json").unlink()
    assert keys.find(text)
    keys.forget()
    assert keys.find(text) is None
