import ipaddress

from sandbox_server.drivers.egress.rule_index import RuleIndex

RULES = [
    (["a.example"], []),
    (["*.example", "a.example"], []),
    (["*"], []),
    ([], [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("10.1.0.0/16")]),
    ([], [ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("fd00::/8")]),
]


def for_name(name: str) -> list[int]:
    return sorted({number for bucket in RuleIndex(RULES).for_name(name) for number in bucket})


def for_address(text: str) -> list[int]:
    return sorted({number for bucket in RuleIndex(RULES).for_address(ipaddress.ip_address(text)) for number in bucket})


def test_a_name_finds_its_own_rules_those_above_it_and_those_for_every_name() -> None:
    assert for_name("a.example") == [0, 1, 2]
    assert for_name("x.y.example") == [1, 2]
    assert for_name("example") == [2]
    assert for_name("notexample") == [2]


def test_an_address_finds_the_networks_that_hold_it() -> None:
    assert for_address("10.1.2.3") == [3, 4]
    assert for_address("11.0.0.1") == [4]
    assert for_address("fd00::1") == [4]
    assert for_address("fe80::1") == []


def test_a_rule_that_names_a_host_twice_is_once_in_its_bucket() -> None:
    assert RuleIndex([(["a", "a"], []), (["a"], [])]).fullest == 2


def test_looking_a_name_up_leaves_nothing_behind() -> None:
    index = RuleIndex(RULES)
    for number in range(1000):
        index.for_name(f"{number}.other")
        index.for_address(ipaddress.ip_address(number))
    assert index.fullest == 2
