"""The request that the gateway asks about."""

import pytest

from sandbox_server.features.auth.original import Original


def original(uri: str, method: str = "GET", **headers: str) -> Original:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Original.of({"x-original-uri": uri, "x-original-path": uri.partition("?")[0], "x-original-method": method, **named})


@pytest.mark.parametrize(
    ("uri", "kept"),
    [
        ("/a?ticket=T", "/a"),
        ("/a?x=1&ticket=T", "/a?x=1"),
        ("/a?ticket=T&x=1&ticket=T", "/a?x=1"),
        ("/a?t%69cket=T&x=%2F", "/a?x=%2F"),
        ("/a?ticket=theirs&x", "/a?ticket=theirs&x"),
        ("/a?path=websockify%3Fticket%3DT", "/a?path=websockify%3Fticket%3DT"),
        ("/a?", "/a?"),
        ("/a", "/a"),
        ("/a%20b?x=a+b&&c", "/a%20b?x=a+b&&c"),
    ],
)
def test_only_the_secret_parameters_are_left_out(uri: str, kept: str) -> None:
    assert original(uri).uri_without(lambda name, value: (name, value) == ("ticket", "T")) == kept


def test_values_are_decoded() -> None:
    assert original("/a?api_key=a%2Bb&api_key=c").values("api_key") == ["a+b", "c"]
    assert original("/a").values("api_key") == []


@pytest.mark.parametrize(
    ("path", "port"),
    [
        ("/proxy/3000/x", 3000),
        ("/absproxy/3000", 3000),
        ("/proxy/", None),
        ("/proxy/x/", None),
        ("/v1/proxy/3000/", None),
        ("/proxy/123456/", None),
    ],
)
def test_a_path_can_name_a_port(path: str, port: int | None) -> None:
    assert original(path).port == port


def test_nginxs_word_on_the_port_comes_first() -> None:
    assert original("/proxy/3000/", x_original_port="4000").port == 4000


def test_a_browser_that_opens_a_page_is_told_from_a_program() -> None:
    html = "text/html,application/xhtml+xml"
    assert original("/", accept=html).is_page
    assert not original("/", accept="*/*").is_page
    assert not original("/", "POST", accept=html).is_page
    assert not original("/", accept=html, x_original_upgrade="websocket").is_page
