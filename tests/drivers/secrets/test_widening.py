from typing import Any

import pytest

from sandbox_server.drivers.secrets.definition import SecretDefinition, read_definition
from sandbox_server.drivers.secrets.widening import widened

BINDING: dict[str, Any] = {
    "hosts": ["a.example", "*.b.example"],
    "methods": ["GET", "POST"],
    "paths": ["/v1/**", "/me"],
    "places": ["header:X-Key", "form", "json:/key"],
}
KNOWN: dict[str, Any] = {"bindings": [BINDING, {"hosts": ["c.example:8443"], "browser": True}], "fill": ["https://a.example"]}


def definition(given: dict[str, Any]) -> SecretDefinition:
    return read_definition("A", given, lambda name: f"placeholder-{name}")


def with_binding(**more: Any) -> dict[str, Any]:
    return {**KNOWN, "bindings": [BINDING | more]}


@pytest.mark.parametrize(
    "after",
    [
        KNOWN,
        {**KNOWN, "variable": "TOKEN", "placeholder": "ghp_000000000000"},
        {"fill": ["https://a.example"]},
        {"bindings": [BINDING]},
        with_binding(hosts=["a.example:443"]),
        with_binding(hosts=["x.b.example", "*.y.b.example"]),
        with_binding(methods=["GET"]),
        with_binding(paths=["/me", "/v1/users", "/v1/users/*", "/v1/users/**"]),
        with_binding(places=["header:x-key", "form:password"]),
        {"bindings": [{"hosts": ["c.example:8443"]}]},
        {"bindings": [{"hosts": ["c.example:8443"], "places": ["basic"], "browser": True}]},
    ],
)
def test_what_is_as_narrow_as_before_gives_nothing_to_anybody_new(after: dict[str, Any]) -> None:
    assert widened(definition(KNOWN), definition(after)) == ""


@pytest.mark.parametrize(
    ("after", "field"),
    [
        ({**KNOWN, "kind": "totp"}, "kind"),
        ({**KNOWN, "fill": ["https://a.example", "https://evil.example"]}, "fill"),
        ({**KNOWN, "fill": ["https://a.example:8443"]}, "fill"),
        ({**KNOWN, "bindings": [*KNOWN["bindings"], {"hosts": ["evil.example"]}]}, "bindings/2"),
        (with_binding(hosts=["evil.example"]), "bindings/0"),
        (with_binding(hosts=["a.example:8443"]), "bindings/0"),
        (with_binding(hosts=["*.a.example"]), "bindings/0"),
        (with_binding(hosts=["b.example"]), "bindings/0"),
        (with_binding(hosts=["xb.example"]), "bindings/0"),
        (with_binding(hosts=["c.example:8443"]), "bindings/0"),
        (with_binding(methods=[]), "bindings/0"),
        (with_binding(methods=["GET", "DELETE"]), "bindings/0"),
        (with_binding(paths=[]), "bindings/0"),
        (with_binding(paths=["/**"]), "bindings/0"),
        (with_binding(paths=["/v2/x"]), "bindings/0"),
        (with_binding(paths=["/v1*/**"]), "bindings/0"),
        (with_binding(paths=["/m?"]), "bindings/0"),
        (with_binding(places=["query"]), "bindings/0"),
        (with_binding(places=["header:User-Agent"]), "bindings/0"),
        (with_binding(places=["json"]), "bindings/0"),
        (with_binding(places=["json:/KEY"]), "bindings/0"),
        (with_binding(browser=True), "bindings/0"),
    ],
)
def test_what_gives_it_to_somebody_new_is_named(after: dict[str, Any], field: str) -> None:
    assert widened(definition(KNOWN), definition(after)) == field


def test_a_page_that_had_the_placeholder_does_not_get_the_value() -> None:
    hidden = {"fill": ["https://a.example"], "bindings": [{"hosts": ["a.example"], "places": ["form"], "browser": True}]}
    before = definition(hidden)
    assert before.is_put_into_forms("https://a.example")
    assert widened(before, definition({"fill": ["https://a.example"]})) == "fill"
    assert widened(definition({"fill": ["https://a.example"]}), definition({"fill": ["https://a.example"]})) == ""


def test_a_glob_with_a_wildcard_before_its_end_covers_itself_alone() -> None:
    before = definition(with_binding(paths=["/v*/**"]))
    assert widened(before, definition(with_binding(paths=["/v*/**", "/v1/x"]))) == ""
    assert widened(before, definition(with_binding(paths=["/v*/x/**"]))) == "bindings/0"
