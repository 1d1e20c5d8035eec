"""Identifiers, and what may be asked for."""

import re

import pytest
from pydantic import ValidationError
from tandem_fleet.sandboxes import NAME, Spec, new_id


def test_ids_are_parts_of_host_names_and_differ() -> None:
    made = {new_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(NAME, one) and not one[0].isdigit() and len(one) == 16 for one in made)


@pytest.mark.parametrize(
    "wrong",
    [{"memory_mb": 0}, {"cpus": 0}, {"processes": 1}, {"level": "root"}, {"image": ""}, {"privileged": True}, {"environment": {"A": 1}}],
)
def test_a_spec_refuses_what_makes_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Spec.model_validate({"image": "image"} | wrong)


def test_a_spec_that_was_kept_is_the_same() -> None:
    spec = Spec(image="image", environment={"A": "b"}, cpus=1.5, labels={"team": "search"})
    assert Spec.model_validate_json(spec.model_dump_json()) == spec
