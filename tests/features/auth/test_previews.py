"""The address at which a browser sees a previewed page."""

import pytest

from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.features.auth.original import Original
from sandbox_server.features.auth.previews import is_editor, own_address, shares_origin


def original(uri: str, host: str = "localhost:8080", **headers: str) -> Original:
    """A request."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Original.of({"x-original-uri": uri, "host": host, **named})


@pytest.mark.parametrize(
    ("uri", "host", "domain", "address"),
    [
        ("/proxy/3000/", "localhost:8080", None, "http://3000-preview.localhost:8080/"),
        ("/proxy/3000/a%2Fb?x=1", "127.0.0.1:8080", None, "http://3000-preview.localhost:8080/a%2Fb?x=1"),
        ("/proxy/3000/a", "[::1]:8080", None, "http://3000-preview.localhost:8080/a"),
        ("/proxy/3000//evil.example/", "localhost", None, "http://3000-preview.localhost/evil.example/"),
        ("/absproxy/3000/a", "localhost", None, "http://3000-preview.localhost/absproxy/3000/a"),
        ("/proxy/3000/a", "box.example", "p.example", "http://3000-p.example/a"),
        ("/proxy/3000/a", "box.example:81", "p.example", "http://3000-p.example:81/a"),
        ("/proxy/3000/a", "box.example:81", "p.example:82", "http://3000-p.example:82/a"),
        ("/proxy/3000/a", "box.example", None, None),
        ("/proxy/3000/a", "localhost.example", None, None),
    ],
)
def test_a_preview_url_has_the_port_in_its_host_and_the_rest_of_the_path(
    uri: str, host: str, domain: str | None, address: str | None
) -> None:
    assert own_address(original(uri, host), domain, lambda *_: False) == address


def test_credentials_do_not_go_there() -> None:
    found = own_address(original("/proxy/3000/?ticket=secret&a=1"), None, lambda name, _: name == "ticket")
    assert found == "http://3000-preview.localhost:8080/?a=1"


@pytest.mark.parametrize(
    ("prefix", "shares"),
    [("/", True), ("/proxy", True), ("/proxy/30", True), ("/proxy/30001", True), ("/proxy/3000", False), ("/proxy/3000/a", False)],
)
def test_only_a_grant_for_this_preview_may_be_on_its_origin(prefix: str, shares: bool) -> None:
    assert shares_origin(original("/proxy/3000/"), [Grant("x", frozenset(), prefix)]) is shares


def test_a_preview_by_host_or_by_header_is_on_another_origin_or_for_a_program() -> None:
    assert not shares_origin(original("/", x_original_port="3000"), [Grant("x", frozenset())])
    assert not shares_origin(original("/terminal"), [Grant("x", frozenset())])


@pytest.mark.parametrize(("path", "known"), [
    ("/jupyter/", True), ("/jupyter", True), ("/code-server/x", True), ("/", False), ("/v1/jupyter/execute", False), ("/jupyterlab", False),
])  # fmt: skip
def test_an_editor_is_known_by_its_path(path: str, known: bool) -> None:
    assert is_editor(path) is known
