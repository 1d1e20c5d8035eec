from pathlib import Path

import pytest

from sandbox_server.boot import egress_container
from sandbox_server.drivers.egress import container_rules
from sandbox_server.settings import load


def test_nameservers_are_those_that_the_file_names(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text("# nameserver 1.1.1.1\nsearch a.example\nnameserver 10.0.0.2\nnameserver fd00::2 # ours\nnameserver\noptions ndots:0\n")
    assert egress_container.nameservers(str(file)) == ["10.0.0.2", "fd00::2"]


def test_questions_to_nameservers_are_exempt_for_one_user_and_one_port() -> None:
    assert container_rules.exempt_questions(992, ["10.0.0.2", "fe80::1%eth0", "127.0.0.11"]) == [
        "meta skuid 992 ip daddr { 10.0.0.2, 127.0.0.11 } meta l4proto { tcp, udp } ct original proto-dst 53",
        "meta skuid 992 ip6 daddr { fe80::1 } meta l4proto { tcp, udp } ct original proto-dst 53",
    ]
    assert container_rules.exempt_questions(992, []) == []


def test_without_rights_over_the_network_it_ends_and_says_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(container_rules, "may_make", lambda: False)
    with pytest.raises(SystemExit) as ended:
        egress_container.run(load({}))
    assert ended.value.code == egress_container.EXIT_NO_RULES
    assert "--cap-add NET_ADMIN" in capsys.readouterr().err


def test_a_policy_that_does_not_parse_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        egress_container.run(load({"EGRESS_POLICY": '{"default": "perhaps"}'}))
    assert ended.value.code == egress_container.EXIT_BAD_SETTINGS
    assert "EGRESS_POLICY/default" in capsys.readouterr().err
