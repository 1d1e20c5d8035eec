import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress import policy_document
from sandbox_server.drivers.egress.policy import AppProtocol, EgressAction, EgressMode
from sandbox_server.drivers.egress.policy_document import EgressPolicyError, parse_policy, read_policy
from tests.tables import table_test


def rule(**fields: Any) -> dict[str, Any]:
    return {"rules": [{"action": "allow", "hosts": ["a.example"], **fields}]}


def pointers(document: object) -> list[str]:
    with pytest.raises(EgressPolicyError) as refused:
        read_policy(document)
    return [pointer for pointer, _ in refused.value.errors]


def test_an_empty_document_denies_everything() -> None:
    policy = parse_policy("{}")
    assert (policy.default, policy.mode, policy.rules, policy.ech) == (EgressAction.DENY, EgressMode.ENFORCE, (), EgressAction.DENY)


def test_a_rule_is_read_with_all_its_fields() -> None:
    document = rule(
        name="api",
        hosts=["API.Example.", "*.Bücher.example", "*"],
        cidrs=["10.0.0.0/8", "fd00::/8", "192.0.2.1"],
        ports=[443, "8000-8999"],
        protocols=["tls", "http"],
        methods=["get"],
        paths=["/v1/**"],
        task="t1",
        until="2026-01-31T12:00:00Z",
        upstream="out",
    )
    [found] = read_policy(document | {"upstreams": {"out": "socks5://u:p@proxy.example"}}).rules
    assert found.hosts == ("api.example", "*.xn--bcher-kva.example", "*")
    assert [str(network) for network in found.networks] == ["10.0.0.0/8", "fd00::/8", "192.0.2.1/32"]
    scope = found.scope
    assert scope.ports == ((443, 443), (8000, 8999))
    assert scope.protocols == (AppProtocol.TLS, AppProtocol.HTTP)
    assert scope.methods == ("GET",)
    assert (scope.paths, scope.task, scope.until, scope.upstream) == (("/v1/**",), "t1", 1769860800.0, "out")


def test_a_set_brings_its_hosts_and_its_ports_unless_the_rule_has_some() -> None:
    [found] = read_policy({"rules": [{"action": "allow", "sets": ["debian"]}]}).rules
    assert "deb.debian.org" in found.hosts
    assert found.scope.ports == ((80, 80), (443, 443))
    [narrower] = read_policy({"rules": [{"action": "allow", "sets": ["debian"], "ports": [80]}]}).rules
    assert narrower.scope.ports == ((80, 80),)


@table_test(
    [
        ({"action": "permit"}, "/rules/0/action"),
        ({"action": None}, "/rules/0/action"),
        ({"host": "a"}, "/rules/0/host"),
        ({"a/b~c": 1}, "/rules/0/a~1b~0c"),
        ({"hosts": []}, "/rules/0"),
        ({"hosts": "a.example"}, "/rules/0/hosts"),
        ({"hosts": ["a", "a b"]}, "/rules/0/hosts/1"),
        ({"hosts": [1]}, "/rules/0/hosts/0"),
        ({"hosts": ["*a.example"]}, "/rules/0/hosts/0"),
        ({"hosts": ["a.*"]}, "/rules/0/hosts/0"),
        ({"hosts": ["10.0.0.1"]}, "/rules/0/hosts/0"),
        ({"hosts": ["a"] * 2000}, "/rules/0/hosts"),
        ({"cidrs": ["10.0.0.1/8"]}, "/rules/0/cidrs/0"),
        ({"cidrs": ["::ffff:10.0.0.0/104"]}, "/rules/0/cidrs/0"),
        ({"cidrs": [5]}, "/rules/0/cidrs/0"),
        ({"sets": ["cargo"]}, "/rules/0/sets/0"),
        ({"ports": [0]}, "/rules/0/ports/0"),
        ({"ports": [65536]}, "/rules/0/ports/0"),
        ({"ports": ["9-1"]}, "/rules/0/ports/0"),
        ({"ports": [True]}, "/rules/0/ports/0"),
        ({"ports": [80.5]}, "/rules/0/ports/0"),
        ({"ports": ["\uff11"]}, "/rules/0/ports/0"),
        ({"protocols": ["udp"]}, "/rules/0/protocols/0"),
        ({"methods": ["GET /"]}, "/rules/0/methods/0"),
        ({"paths": ["v1"]}, "/rules/0/paths/0"),
        ({"paths": ["/" + "*a" * 100]}, "/rules/0/paths/0"),
        ({"until": "tomorrow"}, "/rules/0/until"),
        ({"until": "2026-01-31T12:00:00"}, "/rules/0/until"),
        ({"until": -1}, "/rules/0/until"),
        ({"until": True}, "/rules/0/until"),
        ({"until": float("nan")}, "/rules/0/until"),
        ({"upstream": "none"}, "/rules/0/upstream"),
        ({"name": "x" * 300}, "/rules/0/name"),
        ({"name": "a\nb"}, "/rules/0/name"),
        ({"task": 5}, "/rules/0/task"),
    ]
)
def test_a_field_that_is_wrong_is_named_by_its_pointer(fields: dict[str, Any], pointer: str) -> None:
    assert pointer in pointers(rule(**fields))


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ([], ""),
        (None, ""),
        ({"default": "ask"}, "/default"),
        ({"mode": "off"}, "/mode"),
        ({"ech": 1}, "/ech"),
        ({"rules": {}}, "/rules"),
        ({"rules": [5]}, "/rules/0"),
        ({"rules": [{}] * 20_001}, "/rules"),
        ({"upstreams": {"a": "ftp://secret"}}, "/upstreams/a"),
        ({"upstreams": []}, "/upstreams"),
        ({"more": 1}, "/more"),
    ],
)
def test_a_document_that_is_wrong_is_too(document: object, pointer: str) -> None:
    assert pointer in pointers(document)


@pytest.mark.parametrize("text", ["", "{", '{"default": "deny", "default": "allow"}', "[" * 100_000, b"\xff\xfe\xff", "1" * 5000])
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(EgressPolicyError):
        parse_policy(text)


def test_a_document_of_any_size_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_document, "MAX_BYTES", 10)
    with pytest.raises(EgressPolicyError, match="10 bytes"):
        parse_policy(json.dumps(rule()))


def test_errors_are_bounded() -> None:
    assert len(pointers({"rules": [{"action": "x"}] * 1000})) == policy_document.MAX_ERRORS


@pytest.mark.parametrize("name", ["same", "default", "protected", "rule 1"])
def test_a_rule_has_a_name_of_its_own(name: str) -> None:
    named = {"action": "deny", "hosts": ["a"], "name": name}
    found = pointers({"rules": [named, {"action": "deny", "hosts": ["a"]}, named]})
    assert "/rules/2/name" in found
    assert ("/rules/0/name" in found) is (name in ("default", "protected"))


def test_so_many_rules_may_name_one_host() -> None:
    same = {"action": "deny", "hosts": ["a.example"]}
    assert pointers({"rules": [same] * (policy_document.MAX_SAME + 1)}) == ["/rules"]
    assert len(read_policy({"rules": [same] * policy_document.MAX_SAME}).rules) == policy_document.MAX_SAME


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(sorted(policy_document._RULE | policy_document._TOP)), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(_json, _json)
def test_no_document_raises_anything_else(document: object, one: object) -> None:
    for given_document in (document, {"rules": [one]}, {"rules": [document, one], "upstreams": one}):
        with suppress(EgressPolicyError):
            read_policy(given_document)
