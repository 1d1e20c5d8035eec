from typing import Any

import pytest

from sandbox_server.drivers.secrets.definition import DefinitionError, SourceKind, check_distinct, read_definition
from sandbox_server.settings.secrets import placeholder_of
from tests.tables import table_test

BOUND = [{"hosts": ["a.example"]}]


def test_a_definition_is_written_as_it_is_read() -> None:
    given: dict[str, Any] = {
        "source": {"vault": {"path": "app", "field": "token"}},
        "bindings": [{"hosts": ["a.example:443"], "methods": ["GET"], "paths": ["/v1/**"], "places": ["query:k"]}],
        "variable": "TOKEN",
        "placeholder": "ghp_0000000000",
        "fill": ["https://a.example"],
        "kind": "totp",
    }
    found = read_definition("A", given)
    assert found.document() == given
    assert read_definition("A", found.document()) == found
    assert str(found.source) == "vault:app/token"


def test_little_has_to_be_said() -> None:
    found = read_definition("A", {"bindings": BOUND})
    assert found.placeholder == placeholder_of("A")
    assert found.source.kind is SourceKind.API
    assert [str(place) for place in found.bindings[0].places] == ["header", "basic"]
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
        read_definition(name, given)
    assert refused.value.field == field


def test_no_placeholder_is_in_another() -> None:
    one = read_definition("A", {"bindings": BOUND, "placeholder": "placeholder-1"})
    for other in ({"placeholder": "placeholder-12"}, {"variable": "V"}):
        two = read_definition("B", {"bindings": BOUND, **other})
        three = read_definition("C", {"bindings": BOUND, "variable": "V"})
        with pytest.raises(DefinitionError):
            check_distinct([one, two, three])
    check_distinct([one, read_definition("B", {"bindings": BOUND})])
