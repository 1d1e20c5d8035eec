import base64
import json

import pytest

from sandbox_server.drivers.egress.bound_secrets import PlaceKind, parse_place
from sandbox_server.drivers.egress.secret_injection import (
    InjectionRefused,
    UsableSecret,
    inject_body,
    inject_head,
    mentions,
    reads_body,
    with_length,
    without_fields,
)

PLACEHOLDER = b"tandem_x_1"


def usable(*places: str, value: str = "value&=/+ é", name: str = "x") -> UsableSecret:
    return UsableSecret(name, PLACEHOLDER, value, frozenset(parse_place(place) for place in places))


def test_framing_fields_are_never_changed() -> None:
    fields = [(b"Host", PLACEHOLDER), (b"Connection", PLACEHOLDER), (b"X", PLACEHOLDER)]
    head = inject_head(b"/", fields, [usable("header:Host", "header:Connection", "header:X", value="abcdef")])
    assert head.fields == [(b"Host", PLACEHOLDER), (b"Connection", PLACEHOLDER), (b"X", b"abcdef")]
    assert head.used == {"x"}


def test_a_value_is_encoded_for_its_place() -> None:
    head = inject_head(b"/" + PLACEHOLDER + b"?k=" + PLACEHOLDER, [], [usable("path", "query")])
    assert head.target == b"/value&=%2F+%20%C3%A9?k=value%26%3D%2F%2B%20%C3%A9"


@pytest.mark.parametrize("value", ["a\r\nHost: evil.example", "☃☃☃☃☃☃", "nul\0nul"])
def test_a_value_never_makes_a_second_field(value: str) -> None:
    with pytest.raises(InjectionRefused) as refused:
        inject_head(b"/", [(b"X", PLACEHOLDER)], [usable("header:x", value=value)])
    assert value not in str(refused.value)


def test_basic_authentication_is_looked_into() -> None:
    login = b"Basic " + base64.b64encode(b"me:" + PLACEHOLDER)
    assert mentions(PLACEHOLDER, b"/", [(b"Authorization", login)])
    assert not mentions(PLACEHOLDER, b"/", [(b"Authorization", b"Basic !!!")])
    head = inject_head(b"/", [(b"authorization", login)], [usable("basic")])
    assert base64.b64decode(head.fields[0][1][6:]) == "me:value&=/+ é".encode()
    assert inject_head(b"/", [(b"authorization", login)], [usable("header:authorization")]).used == frozenset()


def test_bodies_are_read_where_a_secret_may_be_in_them() -> None:
    assert reads_body(b"application/json; charset=utf-8", [usable("json")]) is PlaceKind.JSON
    assert reads_body(b"application/vnd.x+json", [usable("json")]) is PlaceKind.JSON
    assert reads_body(b"application/json", [usable("header:authorization")]) is None
    assert reads_body(b"application/x-www-form-urlencoded", [usable("form:k")]) is PlaceKind.FORM
    assert reads_body(b"text/plain", [usable("json", "form")]) is None


def test_a_pointer_names_one_string() -> None:
    document = {"a/b": [{"k": PLACEHOLDER.decode()}], "k": PLACEHOLDER.decode()}
    body, used = inject_body(PlaceKind.JSON, json.dumps(document).encode(), [usable("json:/a~1b/0/k")])
    assert json.loads(body) == {"a/b": [{"k": "value&=/+ é"}], "k": PLACEHOLDER.decode()}
    assert used == {"x"}


@pytest.mark.parametrize("body", [b"{", b"[" * 200 + b'"' + PLACEHOLDER + b'"' + b"]" * 200, b'{"a": 1, "a": "' + PLACEHOLDER + b'"}'])
def test_a_body_that_is_read_in_different_ways_is_refused(body: bytes) -> None:
    with pytest.raises(InjectionRefused):
        inject_body(PlaceKind.JSON, body + (b"" if PLACEHOLDER in body else PLACEHOLDER), [usable("json")])


def test_a_body_without_a_placeholder_stays_as_it_is() -> None:
    assert inject_body(PlaceKind.JSON, b"not json", [usable("json")]) == (b"not json", frozenset())
    assert inject_body(PlaceKind.FORM, b"k=" + PLACEHOLDER, [usable("form:other")]) == (b"k=" + PLACEHOLDER, frozenset())


def test_a_length_takes_the_place_of_other_framing() -> None:
    fields = [(b"Transfer-Encoding", b"chunked"), (b"content-length", b"3"), (b"X", b"y")]
    assert with_length(fields, 7) == [(b"X", b"y"), (b"Content-Length", b"7")]
    assert without_fields(fields, frozenset((b"x",))) == fields[:2]
