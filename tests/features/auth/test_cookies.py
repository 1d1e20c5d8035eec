"""The cookie of a signed-in browser."""

import pytest

from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.features.auth import cookies

GRANT = Grant("key#1", frozenset({"view"}), "/vnc", 1060.0)


def test_a_page_cannot_read_it_and_another_site_cannot_send_it() -> None:
    header = cookies.set_cookie("S", GRANT, host="box:8080", is_encrypted=False, now=1000.0)
    assert header == "sandbox_session_8080=S; Path=/vnc; Max-Age=60; HttpOnly; SameSite=Lax"


def test_over_tls_it_is_sent_over_tls_only_and_is_this_hosts_alone() -> None:
    header = cookies.set_cookie("S", GRANT, host="box", is_encrypted=True, now=1000.0)
    assert header.startswith("__Host-sandbox_session_")
    assert header.endswith("=S; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure")
    assert "Domain" not in header
    assert cookies.clear_cookie("box", is_encrypted=True) == "__Host-sandbox_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"


def test_only_in_a_frame_on_another_site_it_is_sent_there_and_below_that_site_alone() -> None:
    header = cookies.set_cookie("S", GRANT, host="box", is_encrypted=True, is_framed=True, now=1000.0)
    assert header.endswith("; HttpOnly; SameSite=None; Partitioned; Secure")
    assert "SameSite=Lax" in cookies.set_cookie("S", GRANT, host="box", is_encrypted=False, is_framed=True, now=1000.0)


def test_over_tls_another_hosts_cookie_is_none_of_ours() -> None:
    header = "sandbox_session=tossed; __Host-sandbox_session_8080=S; sandbox_session_8080=tossed; __Secure-sandbox_session=tossed"
    assert cookies.sealed_in(header, is_encrypted=True) == ["S"]
    assert cookies.sealed_in(header) == ["tossed", "S", "tossed"], "a proxy that says nothing of TLS"
    assert cookies.without_ours(header) == "__Secure-sandbox_session=tossed"


@pytest.mark.parametrize(
    ("host", "domain", "may"),
    [
        ("box.example.org", "preview.example.org", True),
        ("example.org:8080", "preview.example.org", True),
        ("box.example.org", "preview.box.example.org:8080", True),
        ("Box.Example.org", "box.example.org", True),
        ("box.example.org", "preview.example.net", False),
        ("boxexample.org", "preview.example.org", False),
        ("localhost:8080", None, False),
        ("localhost:8080", "preview.localhost", False),
        ("127.0.0.1", "preview.example.org", False),
    ],
)
def test_a_name_below_the_one_above_the_previews_gets_their_cookies(host: str, domain: str | None, may: bool) -> None:
    assert cookies.may_be_anothers(host, domain) is may


def test_two_sandboxes_on_one_host_do_not_sign_each_other_out() -> None:
    assert len({cookies.name_for(host) for host in ("localhost:8080", "localhost:9090", "localhost")}) == 3
    assert cookies.name_for("[::1]:8080") == "sandbox_session_8080"
    assert cookies.name_for("[::1]") == "sandbox_session"


def test_ours_are_found_and_left_out() -> None:
    header = 'a=1; sandbox_session_8080="S"; b=x=y; sandbox_session=T; sandbox_sessions=theirs'
    assert cookies.sealed_in(header) == ["S", "T"]
    assert cookies.without_ours(header) == "a=1; b=x=y; sandbox_sessions=theirs"
    assert cookies.without_ours("sandbox_session=T") == ""
    assert cookies.without_ours("") == ""
