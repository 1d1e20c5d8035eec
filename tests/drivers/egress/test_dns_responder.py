from ipaddress import IPv4Address

import dns.message
import dns.opcode
import dns.rcode
import dns.reversename
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.dns_responder import DnsResponder
from sandbox_server.drivers.egress.name_table import NameTable


def ask(responder: DnsResponder, name: str, kind: str = "A", of: str = "IN") -> dns.message.Message:
    query = dns.message.make_query(name, kind, of)
    response = responder.answer(query.to_wire())
    assert response
    read = dns.message.from_wire(response.packet)
    assert query.is_response(read)
    return read


def texts(message: dns.message.Message) -> list[str]:
    return [str(item) for rrset in message.answer for item in rrset]


def test_a_name_has_a_synthetic_address_in_every_spelling() -> None:
    names = NameTable()
    responder = DnsResponder(names)
    [text] = texts(ask(responder, "Api.Example.com"))
    assert names.name_of(IPv4Address(text)) == "api.example.com"
    assert texts(ask(responder, "aPI.example.COM.")) == [text]


@pytest.mark.parametrize("name", ["invalid", "sandbox-proxy.invalid", "A.INVALID."])
def test_an_invalid_name_has_no_address(name: str) -> None:
    names = NameTable()
    assert ask(DnsResponder(names), name).rcode() == dns.rcode.NXDOMAIN
    assert len(names) == 0


@pytest.mark.parametrize("kind", ["AAAA", "HTTPS", "SVCB"])
def test_other_kinds_of_addresses_are_empty(kind: str) -> None:
    read = ask(DnsResponder(NameTable()), "api.example.com", kind)
    assert (read.rcode(), read.answer) == (dns.rcode.NOERROR, [])


@pytest.mark.parametrize("kind", ["TXT", "SRV", "MX", "NS", "ANY", "CNAME", "NULL"])
def test_everything_else_is_not_implemented_and_told(kind: str) -> None:
    responder = DnsResponder(NameTable())
    response = responder.answer(dns.message.make_query("secret.evil.example", kind).to_wire())
    assert response
    assert dns.message.from_wire(response.packet).rcode() == dns.rcode.NOTIMP
    assert response.refused
    assert response.refused[0] == "secret.evil.example"


def test_another_class_or_operation_is_not_implemented() -> None:
    responder = DnsResponder(NameTable())
    assert ask(responder, "version.bind", "TXT", "CH").rcode() == dns.rcode.NOTIMP
    update = dns.message.make_query("a", "SOA")
    update.set_opcode(dns.opcode.NOTIFY)
    response = responder.answer(update.to_wire())
    assert response
    assert dns.message.from_wire(response.packet).rcode() == dns.rcode.NOTIMP


def test_no_address_tells_its_name() -> None:
    responder = DnsResponder(NameTable())
    [text] = texts(ask(responder, "api.example.com"))
    assert ask(responder, dns.reversename.from_address(text).to_text(), "PTR").rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize(
    "name", ["8.8.8.8.in-addr.arpa", "1.0.18.198.in-addr.arpa", "x.in-addr.arpa", "in-addr.arpa", "example.com", "a.ip6.arpa"]
)
def test_any_other_address_has_none(name: str) -> None:
    assert ask(DnsResponder(NameTable()), name, "PTR").rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize("name", ["127.0.0.1", "2130706433", "0x7f.1", "-a.example", "."])
def test_what_is_no_host_has_no_address(name: str) -> None:
    names = NameTable()
    assert ask(DnsResponder(names), name).rcode() == dns.rcode.NXDOMAIN
    assert len(names) == 0


def test_localhost_is_the_namespace_itself() -> None:
    responder = DnsResponder(NameTable())
    assert texts(ask(responder, "localhost")) == ["127.0.0.1"]
    assert texts(ask(responder, "app.localhost", "AAAA")) == ["::1"]
    assert ask(responder, "localhost", "HTTPS").answer == []


def test_a_table_without_room_is_a_failure_of_the_server() -> None:
    names = NameTable(capacity=1)
    responder = DnsResponder(names)
    ask(responder, "a")
    with names.open_flow("a"):
        assert ask(responder, "b").rcode() == dns.rcode.SERVFAIL


@given(st.binary(max_size=600))
def test_no_packet_raises_anything(packet: bytes) -> None:
    responder = DnsResponder(NameTable())
    for candidate in (packet, b"\0\1\1\0\0\1\0\0\0\0\0\0" + packet):
        response = responder.answer(candidate)
        assert response is None or len(response.packet) <= 600
