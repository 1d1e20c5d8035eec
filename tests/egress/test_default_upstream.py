import json
from pathlib import Path

import pytest

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.drivers.egress.protected_addresses import parse_address
from sandbox_server.egress.default_upstream import MAX_PATTERNS, DefaultUpstream, read_use

USE = {"url": "http://user:p%40ss@proxy.corp:3128", "excludes": [".near.example", "10.0.0.0/8"], "includes": []}


def test_connections_go_by_it_but_to_what_is_excluded_and_this_machine(tmp_path: Path) -> None:
    used = DefaultUpstream(str(tmp_path / "upstream.json"))
    assert used.of(Destination(443, "a.example")) is None

    used.replace(USE)

    taken = used.of(Destination(443, "a.example"))
    assert taken
    assert (taken.host, taken.port, taken.user, taken.password) == ("proxy.corp", 3128, "user", "p@ss")
    for direct in ("near.example", "a.near.example", "localhost"):
        assert used.of(Destination(443, direct)) is None
    assert used.of(Destination(443, address=parse_address("10.1.2.3"))) is None
    assert used.of(Destination(443, address=parse_address("1.2.3.4"))) == taken


def test_with_includes_only_these_go_by_it() -> None:
    used = read_use({**USE, "includes": ["*.far.example"]})
    assert [used.takes(host) for host in ("a.far.example", "b.example", "near.example")] == [True, False, False]


def test_the_next_process_uses_it_before_anybody_says_so(tmp_path: Path) -> None:
    path = tmp_path / "upstream.json"
    DefaultUpstream(str(path)).replace(USE)
    assert path.stat().st_mode & 0o777 == 0o600
    assert DefaultUpstream(str(path)).of(Destination(443, "a.example")) is not None

    DefaultUpstream(str(path)).replace({"url": None})
    assert DefaultUpstream(str(path)).of(Destination(443, "a.example")) is None


@pytest.mark.parametrize(
    "wrong",
    [{"url": "ftp://secret@x"}, {"url": 3}, {"url": None, "excludes": [1]}, {"url": None, "includes": ["a"] * (MAX_PATTERNS + 1)}],
)
def test_what_is_wrong_changes_nothing_and_is_not_repeated(tmp_path: Path, wrong: dict[str, object]) -> None:
    used = DefaultUpstream(str(tmp_path / "upstream.json"))
    used.replace(USE)
    with pytest.raises(ValueError, match="must") as raised:
        used.replace(wrong)
    assert "secret" not in str(raised.value)
    assert used.of(Destination(443, "a.example"))
    assert json.loads((tmp_path / "upstream.json").read_text()) == USE
