"""What callers send."""

import pytest
from pydantic import ValidationError
from tandem_fleet.api.messages import CreateRequest, Findings, put_in
from tandem_fleet.backends.backend import Finding

BINDING: dict[str, object] = {"hosts": ["example.com"]}


def test_without_an_image_it_is_the_fleets() -> None:
    assert CreateRequest.model_validate({"name": "work", "memory_mb": 512}).spec("image").image == "image"
    assert CreateRequest.model_validate({"image": "other"}).spec("image").image == "other"


@pytest.mark.parametrize("name", ["", "A", "-a", "a" * 41])
def test_a_name_is_a_part_of_a_host_name(name: str) -> None:
    with pytest.raises(ValidationError):
        CreateRequest.model_validate({"name": name})


def test_all_hold_if_each_does() -> None:
    assert Findings.of([Finding("a", True, "")]).holds
    assert not Findings.of([Finding("a", True, ""), Finding("b", False, "")]).holds


@pytest.mark.parametrize(
    "secret",
    [
        {},
        {"value": "x", "source": {"env": "A"}, "bindings": [BINDING]},
        {"value": "", "bindings": [BINDING]},
        {"value": "x" * 16_385, "bindings": [BINDING]},
        {"value": 7, "bindings": [BINDING]},
        {"source": {}, "bindings": [BINDING]},
        {"source": {"env": "A", "file": "/b"}, "bindings": [BINDING]},
        {"value": "x", "bindings": [{}]},
        {"value": "x", "bindings": [{"hosts": []}]},
        {"value": "x", "bindings": [BINDING | {"when": "now"}]},
        {"value": "x", "bindings": [BINDING] * 17},
        {"value": "x", "bindings": [BINDING], "variable": "a b"},
        {"value": "x", "bindings": [BINDING], "placeholder": "short"},
        {"value": "x", "bindings": [BINDING], "kind": "hotp"},
        {"value": "x", "bindings": [BINDING], "valeu": "y"},
        {"value": "x"},
        {"source": {"api": True}, "bindings": [BINDING]},
    ],
)
def test_a_secret_that_no_sandbox_takes_is_refused_when_it_is_asked_for(secret: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CreateRequest.model_validate({"secrets": {"A": secret}})


def test_a_secret_is_sent_as_it_was_given() -> None:
    for given in (
        {"value": "x", "bindings": [BINDING], "variable": "TOKEN"},
        {"source": {"env": "A"}, "fill": ["https://example.com"]},
        {"value": "x", "source": {"api": True}, "bindings": [BINDING]},
    ):
        assert put_in(CreateRequest.model_validate({"secrets": {"A": given}}).secrets) == {"A": given}
    assert put_in(None) is None
