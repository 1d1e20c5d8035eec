"""Requests that another site makes a browser send."""

import pytest

from sandbox_server.features.auth.origin import is_own
from sandbox_server.features.auth.original import Original
from tests.tables import table_test


def sent(method: str, **headers: str) -> bool:
    named = {"host": "box:8080"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return is_own(Original.of({"x-original-uri": "/v1/x", "x-original-method": method, **named}), silence=False)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("POST", {"origin": "http://box:8080"}),
        ("POST", {"sec_fetch_site": "same-origin", "origin": "http://box:8080"}),
        ("GET", {"sec_fetch_site": "none"}),
        ("GET", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}),
        ("GET", {"x_original_upgrade": "websocket", "origin": "http://box:8080"}),
        ("POST", {"host": "box", "origin": "https://box", "x_forwarded_proto": "https"}),
        ("POST", {"host": "box:80", "origin": "http://box"}),
        ("POST", {"host": "inner:8080", "x_forwarded_host": "box.example", "origin": "https://box.example"}),
    ],
)
def test_our_own_pages_are_recognised(method: str, headers: dict[str, str]) -> None:
    assert sent(method, **headers)


@table_test(
    [
        ("POST", {}),
        ("POST", {"origin": "http://evil:8080"}),
        ("POST", {"origin": "http://box:3000"}),
        ("POST", {"origin": "null"}),
        ("POST", {"origin": "http://box:8080.evil"}),
        ("POST", {"origin": "http://[bad"}),
        ("POST", {"sec_fetch_site": "same-site", "origin": "http://box:3000"}),
        ("POST", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}),
        ("GET", {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}),
        ("GET", {"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"}),
        ("GET", {"x_original_upgrade": "websocket"}),
        ("GET", {"x_original_upgrade": "websocket", "origin": "http://evil"}),
        ("GET", {"x_original_upgrade": "websocket", "sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}),
        ("GET", {"origin": "http://evil"}),
    ]
)
def test_another_sites_requests_are_recognised(method: str, headers: dict[str, str]) -> None:
    assert not sent(method, **headers)


def test_a_program_that_sends_no_browser_headers_may_pass_where_the_caller_says_so() -> None:
    silent = Original.of({"x-original-uri": "/v1/x", "x-original-method": "POST", "host": "box"})
    assert is_own(silent, silence=True)
