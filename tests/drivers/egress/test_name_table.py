import itertools
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from sandbox_server.drivers.egress.name_table import NamesExhausted, NameTable
from sandbox_server.drivers.egress.synthetic_network import GATEWAY, NETWORK


def test_a_name_has_one_address_and_the_address_that_name() -> None:
    table = NameTable()
    one, other = table.address_of("a.example"), table.address_of("b.example")
    assert one != other
    assert {one, other} < set(NETWORK.hosts()) - {GATEWAY}
    assert table.address_of("a.example") == one
    assert (table.name_of(one), table.name_of(other)) == ("a.example", "b.example")


@pytest.mark.parametrize("address", ["198.18.0.0", "198.18.0.1", "198.19.255.255", "8.8.8.8", "0.0.0.0"])
def test_no_name_has_any_other_address(address: str) -> None:
    table = NameTable()
    table.address_of("a")
    assert table.name_of(IPv4Address(address)) is None


def test_the_next_process_knows_the_names(tmp_path: Path) -> None:
    path = str(tmp_path / "names")
    first = NameTable(path)
    addresses = {name: first.address_of(name) for name in ("a", "b", "c")}
    second = NameTable(path)  # the first was killed
    assert {name: second.address_of(name) for name in addresses} == addresses
    assert second.address_of("d") not in addresses.values()
    for table in (first, second):
        table.close()


def test_the_name_that_was_used_longest_ago_gives_way() -> None:
    table = NameTable(capacity=3)
    a, b, c = (table.address_of(name) for name in "abc")
    table.address_of("a")
    d = table.address_of("d")
    assert table.name_of(b) is None
    assert [table.name_of(address) for address in (a, c, d)] == ["a", "c", "d"]
    assert len(table) == 3


def test_a_flow_counts_as_a_use() -> None:
    table = NameTable(capacity=2)
    a, b = table.address_of("a"), table.address_of("b")
    with table.open_flow("a"):
        pass
    table.address_of("c")
    assert (table.name_of(a), table.name_of(b)) == ("a", None)


def test_a_name_with_an_open_flow_stays() -> None:
    table = NameTable(capacity=2)
    a = table.address_of("a")
    with table.open_flow("a"), table.open_flow("a"):
        for number in range(100):
            table.address_of(f"n{number}")
        assert table.name_of(a) == "a"
    table.address_of("x")
    table.address_of("y")
    assert table.name_of(a) is None


def test_a_table_full_of_open_flows_takes_no_name() -> None:
    table = NameTable(capacity=1)
    table.address_of("a")
    with table.open_flow("a"), pytest.raises(NamesExhausted):
        table.address_of("b")
    assert table.address_of("b")


def test_an_address_is_reused_as_late_as_possible() -> None:
    table = NameTable(capacity=10)
    given = [table.address_of(f"n{number}") for number in range(NETWORK.num_addresses - 3)]
    assert len(set(given)) == len(given)
    assert table.address_of("again") == given[0]
    assert len(table) == 10


def test_addresses_tell_neither_an_order_nor_what_was_asked_before() -> None:
    names = [f"n{number}" for number in range(200)]
    tables = [NameTable() for _ in range(2)]
    found = [[int(table.address_of(name)) for name in names] for table in tables]
    assert found[0] != found[1], "another process has another order"
    steps = {after - before for each in found for before, after in itertools.pairwise(each)}
    assert len(steps) > 190, "no step leads from one address to the next"


def test_the_next_process_has_an_order_of_its_own(tmp_path: Path) -> None:
    path = str(tmp_path / "names")
    first = NameTable(path)
    first.address_of("a")
    second, third = NameTable(path), NameTable(path)
    assert [second.address_of(f"n{number}") for number in range(20)] != [third.address_of(f"n{number}") for number in range(20)]
    for table in (first, second, third):
        table.close()


def test_the_file_does_not_grow_without_bound(tmp_path: Path) -> None:
    path = tmp_path / "names"
    table = NameTable(str(path), capacity=10)
    for number in range(10_000):
        table.address_of(f"n{number}")
    assert len(path.read_text().splitlines()) <= 50
    latest = table.address_of("n9999")
    table.close()
    again = NameTable(str(path), capacity=10)
    assert again.name_of(latest) == "n9999"
    assert len(again) == 10
    again.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\n",
        b"2 a\n2 b\n3 b\n",
        b"x y\n5\n5 \n5 A\n5 a b\n",
        b"1 a\n0 b\n131071 c\n-5 d\n99999999999999999999 e\n",
        b"5 1.2.3.4\n5 a",
        b"\0" * 1000,
    ],
)
def test_a_file_that_was_damaged_gives_what_it_can(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "names"
    path.write_bytes(content)
    table = NameTable(str(path))
    for name in ("a", "b", "c"):
        assert table.name_of(table.address_of(name)) == name
    assert len({table.address_of(name) for name in "abc"}) == 3
    table.close()


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("")
    (tmp_path / "names").symlink_to(other)
    table = NameTable(str(tmp_path / "names"))
    table.address_of("a")
    table.close()
    assert other.read_text() == ""
    assert not (tmp_path / "names").is_symlink()


def test_a_folder_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    table = NameTable(str(tmp_path / "none" / "names"))
    assert table.name_of(table.address_of("a")) == "a"
    table.close()
