from typing import Any

import pytest

from sandbox_server.drivers.egress.bound_secrets import (
    MAX_SECRETS,
    PlaceKind,
    SecretPlace,
    check_value,
    parse_host,
    parse_place,
    read_secrets,
)
from sandbox_server.drivers.egress.policy import HttpRequest
from sandbox_server.drivers.egress.secret_users import Requester

PROGRAM = Requester.PROGRAM


def secret(name: str = "a", **binding: Any) -> dict[str, Any]:
    return {"name": name, "placeholder": "tandem_a", "value": "secret-value", "bindings": [{"hosts": ["a.example"], **binding}]}


def test_a_secret_is_found_by_host_and_port() -> None:
    table = read_secrets([secret(hosts=["a.example", "*.b.example", "c.example:8443"])])
    found = {
        host: bool(table.bound_to(*host)) for host in (("a.example", 443), ("a.example", 80), ("x.b.example", 443), ("b.example", 443))
    }
    assert found == {("a.example", 443): True, ("a.example", 80): False, ("x.b.example", 443): True, ("b.example", 443): False}
    assert table.bound_to("c.example", 8443)
    assert not table.bound_to("evila.example", 443)
    assert not table.bound_to("xb.example", 443)


def test_a_request_gets_the_places_of_the_bindings_that_cover_it() -> None:
    found = next(iter(read_secrets([secret(methods=["GET"], paths=["/v1/**"], places=["query:k"])])))
    assert found.places("a.example", 443, HttpRequest("GET", "/v1/x?y"), PROGRAM) == {SecretPlace(PlaceKind.QUERY, "k")}
    for request in (
        HttpRequest("POST", "/v1/x"),
        HttpRequest("GET", "/v2"),
        HttpRequest("GET", "/v1/%2e%2e/v2"),
        HttpRequest("GET", "//v1/x"),
    ):
        assert not found.places("a.example", 443, request, PROGRAM)
    assert not found.places("b.example", 443, HttpRequest("GET", "/v1/x"), PROGRAM)


@pytest.mark.parametrize("text", ["header", "cookie", "basic:x", "sigv4:x", "json:key", ""])
def test_a_malformed_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="place"):
        parse_place(text)


def test_places_are_written_as_they_are_read() -> None:
    for text in ("header:X-Key", "basic", "query:key", "json:/a/b", "form:k", "path", "sigv4"):
        assert str(parse_place(text)) == text


@pytest.mark.parametrize("text", ["*.com", "*.co.uk", "*.github.io", "a.example:x", "a.example:70000", "", "*", "127.0.0.1", "a b"])
def test_a_malformed_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_host(text)


@pytest.mark.parametrize("value", ["short", "line\nbreak", "line\rbreak", "nul\0nul", "x" * 20_000])
def test_a_value_that_would_break_a_request_is_refused_without_repeating_it(value: str) -> None:
    with pytest.raises(ValueError, match="value") as refused:
        check_value(value)
    assert value not in str(refused.value)


def test_so_many_secrets_are_held() -> None:
    with pytest.raises(ValueError, match="at most"):
        read_secrets([secret(str(number)) for number in range(MAX_SECRETS + 1)])


def test_no_representation_shows_a_value() -> None:
    table = read_secrets([secret()])
    assert "secret-value" not in repr(next(iter(table)))
    table.give("a", None, None)
    assert next(iter(table)).value is None
