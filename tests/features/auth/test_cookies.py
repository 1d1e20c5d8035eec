"""The cookie of a signed-in browser."""

from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.features.auth import cookies

GRANT = Grant("key#1", frozenset({"view"}), "/vnc", 1060.0)


def test_a_page_cannot_read_it_and_another_site_cannot_send_it() -> None:
    header = cookies.set_cookie("S", GRANT, host="box:8080", is_encrypted=False, now=1000.0)
    assert header == "sandbox_session_8080=S; Path=/vnc; Max-Age=60; HttpOnly; SameSite=Lax"


def test_over_tls_it_is_sent_over_tls_only() -> None:
    assert cookies.set_cookie("S", GRANT, host="box", is_encrypted=True, now=1000.0).endswith("; Secure")


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
