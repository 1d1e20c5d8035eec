"""The stream's variables."""

import pytest

from sandbox_server.settings import BadSettings, load
from tests.tables import table_test


def test_no_port_is_open_unless_it_is_asked_for() -> None:
    assert load({}).stream.udp_port == 0


def test_the_desktop_has_no_microphone_unless_it_is_asked_for() -> None:
    assert not load({}).stream.microphone
    assert load({"STREAM_MICROPHONE": "true"}).stream.microphone


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("desktop.example", ("desktop.example", 0)),
        ("10.1.2.3:9000", ("10.1.2.3", 9000)),
        ("2001:DB8::1", ("2001:db8::1", 0)),
        ("[2001:db8::1]", ("2001:db8::1", 0)),
        ("[::1]:9000", ("::1", 9000)),
    ],
)
def test_where_viewers_reach_it_is_a_host_with_or_without_a_port(text: str, place: tuple[str, int]) -> None:
    stream = load({"STREAM_UDP_PORT": "8443", "STREAM_UDP_ADDRESS": text}).stream
    assert (stream.udp_port, stream.udp_address) == (8443, place)


@table_test(
    [
        ("STREAM_UDP_PORT", "65536"),
        *(
            ("STREAM_UDP_ADDRESS", text)
            for text in (
                "a b",
                "host:0",
                "256.1.1.1",
                "0.0.0.0",
                "224.0.0.1:9",
                "[::]:9",
                "[::1",
                "[::1]:0",
                "[::1]9",
                "1::2::3",
                "fe80::1%eth0",
            )
        ),
    ]
)
def test_what_cannot_be_used_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(BadSettings, match=name):
        load({name: text})
