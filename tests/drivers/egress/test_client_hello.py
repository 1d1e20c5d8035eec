"""Real ClientHellos of OpenSSL, and others made by hand."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.client_hello import MAX_HELLO, ClientHello, HelloReader, MalformedHello
from tests.client_hellos import extension, hello, name_extension, real, records
from tests.tables import table_test


def test_a_real_client_names_its_server() -> None:
    assert HelloReader().feed(real("api.example.com")) == ClientHello("api.example.com", ech=False)
    assert HelloReader().feed(real(None)) == ClientHello("", ech=False)


def test_older_versions_are_read_too() -> None:
    context = ssl.create_default_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert HelloReader().feed(real("api.example.com", context)) == ClientHello("api.example.com", ech=False)


@pytest.mark.parametrize("piece", [1, 2, 7, 100])
def test_the_pieces_in_which_it_comes_do_not_matter(piece: int) -> None:
    message, reader = real("api.example.com"), HelloReader()
    found = [reader.feed(message[first : first + piece]) for first in range(0, len(message), piece)]
    assert found[-1] == ClientHello("api.example.com", ech=False)
    assert not any(found[:-1])


@pytest.mark.parametrize("size", [1, 3, 50])
def test_the_records_into_which_it_is_cut_do_not_matter(size: int) -> None:
    assert HelloReader().feed(records(hello(name_extension(b"a.example")), size)) == ClientHello("a.example", ech=False)


def test_what_follows_in_the_same_packet_is_left_alone() -> None:
    assert HelloReader().feed(real("a.example") + b"\x17\3\3\0\5early") == ClientHello("a.example", ech=False)


@pytest.mark.parametrize("kind", [0xFE0D, 0xFFCE])
def test_a_name_that_may_be_hidden_is_told(kind: int) -> None:
    assert HelloReader().feed(records(hello(name_extension(b"a.example") + extension(kind, b"x" * 40)))) == ClientHello(
        "a.example", ech=True
    )


@table_test(
    [
        records(hello(name_extension(b"a.example") + name_extension(b"b.example"))),
        records(hello(name_extension(b"a.example", b"b.example"))),
        records(hello(name_extension())),
        records(hello(name_extension(b""))),
        records(hello(extension(0, b""))),
        records(hello(extension(0, b"\0\5\1\0\2ab"))),
        records(hello(name_extension(b"\xc3\xa9"))),
        records(hello(b"\0\0\0")),
        records(hello(name_extension(b"a.example"), b"more")),
        records(b"\2" + hello(b"")[1:]),
        records(b"\1\0\0\0"),
        b"\x16\3\1\0\0",
        b"\x16\3\1\xff\xff" + b"x" * 100,
        b"\x17\3\1\0\5hello",
        b"\x15\3\1\0\2\1\0",
        b"\x16\2\1\0\5hello",
        records(b"\1\xff\xff\xff"),
        b"\x16\3\1\0\1\1" + b"GET / HTTP/1.1\r\n",
    ]
)
def test_what_is_no_single_name_is_malformed(sent: bytes) -> None:
    with pytest.raises(MalformedHello):
        HelloReader().feed(sent)


def test_it_is_bounded() -> None:
    reader = HelloReader()
    sent = records(b"\1\0\x30\0" + bytes(MAX_HELLO), 1)
    assert not any(reader.feed(sent[first : first + 6]) for first in range(0, MAX_HELLO - 6, 6))
    with pytest.raises(MalformedHello, match=str(MAX_HELLO)):
        reader.feed(bytes(MAX_HELLO))


@given(st.binary(max_size=300), st.integers(1, 50))
def test_no_bytes_raise_anything_else(received: bytes, piece: int) -> None:
    for candidate in (received, b"\x16\3\1" + received, records(hello(b""))[:49] + received):
        reader = HelloReader()
        try:
            for first in range(0, len(candidate), piece):
                reader.feed(candidate[first : first + piece])
        except MalformedHello:
            pass
