import subprocess
import sys
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.host_names import MAX_NAME, normal_form, parents, parse_host
from tests.tables import table_test


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("API.Example.COM", "api.example.com"),
        ("api.example.com.", "api.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("api\u3002example\u3002com", "api.example.com"),
        ("\uff41pi.example", "api.example"),
        ("_srv._tcp.example", "_srv._tcp.example"),
        ("localhost", "localhost"),
    ],
)
def test_the_many_ways_to_write_a_name_have_one_form(written: str, normal: str) -> None:
    assert normal_form(written) == normal


@table_test(
    [
        "",
        ".",
        "a..b",
        "example.com..",
        "-a.example",
        "a-.example",
        "a b",
        "a\0b",
        "a/b",
        "a@b",
        "a:80",
        "[::1]",
        "*.a",
        "a%2e",
        "a\n",
        "x" * 64,
        "a." * 130,
    ]
)
def test_what_is_no_name_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="host name"):
        normal_form(written)


@pytest.mark.parametrize(
    "written",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "a.0x", "1.2.3.4.", "example.1", "\uff11\uff12\uff17.1"],
)
def test_what_a_resolver_takes_for_an_address_is_no_name(written: str) -> None:
    with pytest.raises(ValueError, match="end in a number"):
        normal_form(written)


@given(st.text(max_size=400))
def test_any_text_has_a_normal_form_that_stays_or_is_refused(text: str) -> None:
    try:
        name = normal_form(text)
    except ValueError:
        return
    assert name.isascii()
    assert len(name) <= MAX_NAME
    assert normal_form(name) == name


def test_the_names_above_a_name() -> None:
    assert parents("a.b.c") == ["b.c", "c"]
    assert parents("localhost") == []


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("API.Example.", "api.example"),
        ("10.0.0.1", ip_address("10.0.0.1")),
        ("2001:DB8::1", ip_address("2001:db8::1")),
        ("[2001:DB8::1]", ip_address("2001:db8::1")),
        ("::ffff:1.2.3.4", ip_address("1.2.3.4")),
    ],
)
def test_a_host_is_an_address_or_a_name(written: str, host: object) -> None:
    assert parse_host(written) == host


@table_test(["", "[", "[]", "[::1", "::1]", "[[::1]]", "[10.0.0.1]", "[a.example]", "[a.example", "1.2.3", "a:80", "[::1]:80"])
def test_brackets_are_for_ipv6_addresses_alone(written: str) -> None:
    with pytest.raises(ValueError, match="host name"):
        parse_host(written)


def test_the_tables_of_internationalised_names_are_loaded_when_such_a_name_comes() -> None:
    program = (
        "import sys; from sandbox_server.drivers.egress.host_names import normal_form\n"
        "for name in ('a.example', 'b\\u00fccher.example'): normal_form(name); print('idna' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
