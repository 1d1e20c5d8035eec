"""Compared with dnspython, which reads and writes whole messages."""

import struct

import dns.flags
import dns.message
import dns.rdatatype
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.dns_messages import DnsQuery, NoDnsQuery, ResponseCode, parse_query, respond

LABEL = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=20)


@given(st.lists(LABEL, min_size=1, max_size=8), st.sampled_from(["A", "AAAA", "TXT", "PTR", "HTTPS", "SRV"]), st.booleans())
def test_a_query_is_read_as_others_write_it(labels: list[str], kind: str, edns: bool) -> None:
    written = dns.message.make_query(".".join(labels), kind, use_edns=0 if edns else None)
    query = parse_query(written.to_wire())
    assert (query.identity, query.name, query.kind, query.of, query.malformed) == (
        written.id,
        ".".join(labels),
        int(dns.rdatatype.from_text(kind)),
        1,
        False,
    )


def test_a_response_is_written_as_others_read_it() -> None:
    written = dns.message.make_query("wWw.ExAmple.com", "A")
    response = dns.message.from_wire(respond(parse_query(written.to_wire()), ResponseCode.NOERROR, bytes([198, 18, 0, 5]), 60))
    assert written.is_response(response)
    assert response.answer[0].to_text() == "wWw.ExAmple.com. 60 IN A 198.18.0.5"
    assert response.flags & dns.flags.RA


def header(flags: int = 0, questions: int = 1) -> bytes:
    return struct.pack("!6H", 7, flags, questions, 0, 0, 0)


@pytest.mark.parametrize("packet", [b"", b"x" * 11, header(0x8000) + b"\1a\0\0\1\0\1", header() + b"\1a\0\0\1\0\1" + b"x" * 5000])
def test_what_is_no_query_gets_no_answer(packet: bytes) -> None:
    with pytest.raises(NoDnsQuery):
        parse_query(packet)


@pytest.mark.parametrize(
    "packet",
    [
        header(),
        header(questions=0) + b"\1a\0\0\1\0\1",
        header(questions=2) + b"\1a\0\0\1\0\1" * 2,
        header() + b"\1a\0\0\1\0",
        header() + b"\xc0\x0c\0\1\0\1",
        header() + b"\1a\xc0\x0c\0\1\0\1",
        header() + b"\x40a\0\0\1\0\1",
        header() + b"\x3fa\0\0\1\0\1",
        header() + b"\1a" * 1000,
        header() + b"\1a" * 128 + b"\0\0\1\0\1",
    ],
)
def test_a_malformed_query_is_said_to_be_so(packet: bytes) -> None:
    query = parse_query(packet)
    assert query.malformed
    assert respond(query, ResponseCode.FORMERR) == struct.pack("!6H", 7, 0x8081, 0, 0, 0, 0)


@pytest.mark.parametrize("label", [b"a.b", b"\xc3\xa9"])
def test_a_label_that_no_host_has_gives_no_name(label: bytes) -> None:
    assert parse_query(header() + bytes([len(label)]) + label + b"\0\0\1\0\1").name is None


def test_another_kind_of_message_is_told_from_a_query() -> None:
    assert not parse_query(header(0x2800) + b"\1a\0\0\6\0\1").standard


@given(st.binary(max_size=600))
def test_no_packet_raises_anything_else(packet: bytes) -> None:
    for candidate in (packet, header() + packet):
        try:
            query = parse_query(candidate)
        except NoDnsQuery:
            continue
        assert isinstance(query, DnsQuery)
        assert len(respond(query, ResponseCode.NOTIMP)) < 600
