from typing import Any

import pytest

from sandbox_server.drivers.secrets.definition import DefinitionError, SecretDefinition, SourceKind, check_distinct, read_definition
from tests.tables import table_test

BOUND = [{"hosts": ["a.example"]}]


def read(name: str, given: dict[str, Any], *, declared: bool = False) -> SecretDefinition:
    """Read a definition in a container."""
    return read_definition(name, given, lambda name: f"placeholder-of-{name}", declared=declared)


def test_a_definition_is_written_as_it_is_read() -> None:
    given: dict[str, Any] = {
        "source": {"vault": {"path": "app", "field": "token"}},
        "bindings": [{"hosts": ["a.example:443"], "methods": ["GET"], "paths": ["/v1/**"], "places": ["query:k"], "browser": True}],
        "variable": "TOKEN",
        "placeholder": "ghp_0000000000",
        "fill": ["https://a.example"],
        "kind": "totp",
    }
    found = read("A", given)
    assert found.document() == given
    assert read("A", found.document()) == found
    assert str(found.source) == "vault:app/token"


def test_little_has_to_be_said() -> None:
    found = read("A", {"bindings": BOUND})
    assert found.placeholder == "placeholder-of-A"
    assert found.source.kind is SourceKind.API
    assert [str(place) for place in found.bindings[0].places] == ["header:Authorization", "basic"]
    assert not found.bindings[0].browser
    assert found.source.document() == {}


@table_test(
    [
        ("a b", {"bindings": BOUND}, "name"),
        ("A", {}, "bindings"),
        ("A", {"bindings": BOUND, "value": "x"}, "value"),
        ("A", {"bindings": [{"hosts": []}]}, "bindings/0/hosts"),
        ("A", {"bindings": [{"hosts": ["127.0.0.1"]}]}, "bindings/0"),
        ("A", {"bindings": [{"hosts": ["a.example"], "places": ["cookie"]}]}, "bindings/0"),
        ("A", {"bindings": [{"hosts": ["a.example"], "other": 1}]}, "bindings/0"),
        ("A", {"bindings": [{"hosts": ["a.example"], "browser": "yes"}]}, "bindings/0"),
        ("A", {"bindings": [{"hosts": ["a.example"], "places": ["header"]}]}, "bindings/0"),
        ("A", {"bindings": [{"hosts": ["*.co.uk"]}]}, "bindings/0"),
        ("A", {"bindings": BOUND * 20}, "bindings"),
        ("A", {"bindings": BOUND, "placeholder": "short"}, "placeholder"),
        ("A", {"bindings": BOUND, "variable": "a-b"}, "variable"),
        ("A", {"bindings": BOUND, "kind": "x"}, "kind"),
        ("A", {"fill": ["http://a.example"]}, "fill"),
        ("A", {"fill": ["https://a.example/path"]}, "fill"),
        ("A", {"bindings": BOUND, "source": {"file": "/workspace/x"}}, "source/file"),
        ("A", {"bindings": BOUND, "source": {"file": "/run/../home/x"}}, "source/file"),
        ("A", {"bindings": BOUND, "source": {"vault": {}}}, "source/vault"),
        ("A", {"bindings": BOUND, "source": {"vault": {"path": "x", "y": "z"}}}, "source/vault"),
        ("A", {"bindings": BOUND, "source": {"nowhere": "x"}}, "source"),
        ("A", {"bindings": BOUND, "source": {"env": ""}}, "source/env"),
    ]
)
def test_what_is_wrong_is_named(name: str, given: dict[str, Any], field: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(name, given, declared=True)
    assert refused.value.field == field


def test_no_placeholder_is_in_another() -> None:
    one = read("A", {"bindings": BOUND, "placeholder": "placeholder-1"})
    for other in ({"placeholder": "placeholder-12"}, {"variable": "V"}):
        two = read("B", {"bindings": BOUND, **other})
        three = read("C", {"bindings": BOUND, "variable": "V"})
        with pytest.raises(DefinitionError):
            check_distinct([one, two, three])
    check_distinct([one, read("B", {"bindings": BOUND})])


@pytest.mark.parametrize("source", [{"env": "SANDBOX_API_KEY"}, {"file": "/run/sandbox/api-key"}])
def test_what_was_given_to_the_container_is_bound_by_its_own_declarations_alone(source: dict[str, str]) -> None:
    given = {"bindings": BOUND, "source": source}
    assert read("A", given, declared=True).source.document() == source
    with pytest.raises(DefinitionError, match="SECRETS declares"):
        read("A", given)


@pytest.mark.parametrize(
    ("binding", "kind", "hidden"),
    [
        ({"places": ["form"], "browser": True}, "text", True),
        ({"places": ["json:/password"], "browser": True}, "text", True),
        ({"places": ["form"]}, "text", False),
        ({"browser": True}, "text", False),
        ({"places": ["form"], "browser": True, "hosts": ["a.example:8443"]}, "text", False),
        ({"places": ["form"], "browser": True}, "totp", False),
    ],
)
def test_a_page_needs_the_placeholder_alone_where_its_own_requests_get_the_value(
    binding: dict[str, Any], kind: str, *, hidden: bool
) -> None:
    found = read("A", {"bindings": [{"hosts": ["a.example"], **binding}], "kind": kind, "fill": ["https://a.example"]})
    assert found.is_put_into_forms("https://a.example") is hidden
