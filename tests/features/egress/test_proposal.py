from pathlib import Path

import pytest

from sandbox_server.drivers.egress.policy_document import read_policy
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress import proposal as proposal_module
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.proposal import LearnedDestination, LearnedDestinations, proposed, rules_for
from tests.features.egress.flows import opened
from tests.patience import eventually

pytestmark = pytest.mark.anyio


def seen(*places: str) -> list[LearnedDestination]:
    """Destinations: host:port or host:port/protocol."""
    found = []
    for place in places:
        where, _, protocol = place.partition("/")
        host, _, port = where.rpartition(":")
        usual = {"80": "http", "443": "tls"}.get(port, "tcp")
        found.append(
            LearnedDestination(host=host, port=int(port), protocol=protocol or usual, rule="default", connections=1, first=1, last=2)
        )
    return found


@pytest.mark.parametrize(
    ("places", "rules"),
    [
        ([], []),
        (["pypi.org:443", "files.pythonhosted.org:443"], [{"action": "allow", "sets": ["pypi"]}]),
        (["github.com:22/tcp", "deb.debian.org:80"], [{"action": "allow", "sets": ["debian", "github"]}]),
        (["pypi.org:8443"], [{"action": "allow", "hosts": ["pypi.org"], "ports": [8443]}]),
        (
            ["b.example.com:443", "a.example.com:443", "a.example.com:80"],
            [
                {"action": "allow", "hosts": ["a.example.com"], "ports": [80, 443]},
                {"action": "allow", "hosts": ["b.example.com"], "ports": [443]},
            ],
        ),
        ([f"{name}.cdn.example.com:443" for name in "abcd"], [{"action": "allow", "hosts": ["*.cdn.example.com"], "ports": [443]}]),
        (
            [f"{name}.github.io:443" for name in "abcd"],
            [{"action": "allow", "hosts": ["a.github.io", "b.github.io", "c.github.io", "d.github.io"], "ports": [443]}],
        ),
        (["ssh.example.com:443/tcp"], [{"action": "allow", "hosts": ["ssh.example.com"], "ports": [443], "protocols": ["tcp"]}]),
        (["10.1.2.3:5432"], [{"action": "allow", "cidrs": ["10.1.2.3/32"], "ports": [5432]}]),
        (["2001:db8::1:443"], [{"action": "allow", "cidrs": ["2001:db8::1/128"], "ports": [443]}]),
    ],
)
def test_what_was_seen_becomes_few_rules(places: list[str], rules: list[dict[str, object]]) -> None:
    assert rules_for(seen(*places)) == rules
    read_policy({"rules": rules})


def test_the_proposal_is_the_policy_in_force_and_what_was_learned_behind_it() -> None:
    mine = {"name": "learned 0", "action": "deny", "hosts": ["evil.example"]}
    document = {"default": "allow", "mode": "learn", "ech": "allow", "rules": [mine]}
    made = proposed(document, seen("a.example.com:443"))
    assert (made["default"], made["mode"], made["ech"]) == ("deny", "enforce", "allow")
    assert made["rules"] == [mine, {"name": "learned 0'", "action": "allow", "hosts": ["a.example.com"], "ports": [443]}]
    read_policy(made)


async def test_only_what_the_mode_learn_allows_is_learned_and_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal_module, "SAVE_SECONDS", 0.01)
    file, table = JsonFile(str(tmp_path / "learned.json")), ConnectionTable()
    async with LearnedDestinations(file) as learned:
        table.seen.append(learned.see)
        table.hear(opened(1, "a.example", learned=True, rule="default"))
        table.hear(opened(2, "a.example", learned=True, rule="default"))
        table.hear(opened(3, "b.example"))
        assert [(each.host, each.port, each.connections) for each in learned.all()] == [("a.example", 443, 2)]
        await eventually(file.read)
    assert [each.host for each in LearnedDestinations(file).all()] == ["a.example"]
    async with LearnedDestinations(file) as learned:
        learned.forget()
    assert LearnedDestinations(file).all() == []


def test_what_is_learned_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal_module, "MAX_LEARNED", 3)
    learned, table = LearnedDestinations(JsonFile(str(tmp_path / "l.json"))), ConnectionTable()
    table.seen.append(learned.see)
    for number in range(10):
        table.hear(opened(number, f"h{number}.example", learned=True))
    assert len(learned.all()) == 3


@pytest.mark.parametrize("kept", ["x", "5", '[{"host": 1}]', "{}"])
def test_a_file_that_is_malformed_taught_nothing(tmp_path: Path, kept: str) -> None:
    (tmp_path / "l.json").write_text(kept)
    assert LearnedDestinations(JsonFile(str(tmp_path / "l.json"))).all() == []
