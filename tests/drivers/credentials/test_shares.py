import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox_server.core.errors import NotFound, ResourceExhausted
from sandbox_server.drivers.credentials import shares as module
from sandbox_server.drivers.credentials.shares import PortShares, is_share
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
def shares(tmp_path: Path, clock: Clock) -> PortShares:
    return PortShares(JsonFile(str(tmp_path / "shares.json")), clock)


def test_a_link_is_found_by_its_token_until_it_ends(shares: PortShares, clock: Clock) -> None:
    share, token = shares.create(3000, 60, caller="mia", note="for Tom")

    assert is_share(token)
    assert shares.find(token) == share
    assert shares.holds(share.id)
    assert (share.port, share.expires, share.note) == (3000, 1060.0, "for Tom")
    clock.seconds = 1060.0
    assert shares.find(token) is None
    assert shares.all() == []


def test_a_link_that_was_taken_back_is_gone(shares: PortShares) -> None:
    first, token = shares.create(3000, 60, caller="mia")
    second, _ = shares.create(3000, 60, caller="mia")
    shares.revoke(first.id)

    assert shares.find(token) is None
    assert shares.all() == [second]
    with pytest.raises(NotFound):
        shares.revoke(first.id)


def test_a_link_that_is_revoked_while_another_is_made_stays_revoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = JsonFile(str(tmp_path / "shares.json"))
    shares = PortShares(file)
    old, _ = shares.create(3000, 60, caller="mia")
    write = Overtaken(file.write)
    monkeypatch.setattr(file, "write", write)
    monkeypatch.setattr(shares, "_changing", write.lock(), raising=False)
    with ThreadPoolExecutor(2) as pool:
        made = pool.submit(shares.create, 3001, 60, caller="mia")
        assert write.begun.wait(PATIENCE_SECONDS)
        pool.submit(shares.revoke, old.id).result(PATIENCE_SECONDS)
        new, _ = made.result(PATIENCE_SECONDS)
    assert shares.all() == PortShares(file).all() == [new]


def test_links_outlive_the_process_and_no_file_has_their_tokens(shares: PortShares, tmp_path: Path, clock: Clock) -> None:
    share, token = shares.create(3000, 60, caller="mia")
    again = PortShares(JsonFile(str(tmp_path / "shares.json")), clock)

    assert again.find(token) == share
    assert token not in json.dumps(json.loads((tmp_path / "shares.json").read_text()))


def test_there_is_an_end_to_their_number(shares: PortShares, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SHARES", 2)
    for _ in range(2):
        shares.create(3000, 60, caller="mia")
    with pytest.raises(ResourceExhausted):
        shares.create(3000, 60, caller="mia")
    clock.seconds += 61
    assert shares.create(3000, 60, caller="mia")


@pytest.mark.parametrize("text", ["", "sh-", "sh-short", "tk-" + "x" * 43, "sh-" + "x" * 44, "sh-" + "/" * 43])
def test_other_strings_are_no_tokens(shares: PortShares, text: str) -> None:
    assert not is_share(text)
    assert shares.find(text) is None


def test_what_was_read_is_forgotten(shares: PortShares, tmp_path: Path) -> None:
    share, token = shares.create(3000, 60, caller="mia")
    (tmp_path / "shares.json").unlink()
    assert shares.find(token)
    shares.forget()
    assert (shares.find(token), shares.holds(share.id)) == (None, False)
