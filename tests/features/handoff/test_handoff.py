"""What may be asked of a person."""

import pytest
from pydantic import ValidationError

from sandbox_server.features.handoff.handoff import MAX_FIELDS, AskPerson, Handoff


def asked(*fields: dict[str, object]) -> AskPerson:
    return AskPerson.model_validate({"reason": "r", "fields": list(fields)})


def test_fields_have_distinct_names_and_are_few_and_secret_ones_have_a_place() -> None:
    city: dict[str, object] = {"name": "city", "label": "City", "selector": "#city"}
    secret: dict[str, object] = {"name": "pin", "label": "PIN", "secret": True}
    assert asked(city).fields[0].selector == "#city"
    for fields, why in (((city, city), "same name"), ((secret,), "a selector and an origin"), ((city,) * (MAX_FIELDS + 1), "at most")):
        with pytest.raises(ValidationError, match=why):
            asked(*fields)


def test_what_an_earlier_version_kept_is_understood() -> None:
    kept: dict[str, object] = {
        "id": "h",
        "kind": "free",
        "reason": "r",
        "instructions": "",
        "url": None,
        "region": None,
        "choices": [],
        "on_timeout": "give_up",
    }
    found = Handoff.model_validate(kept | {"asked_by": "a", "created_at": 1, "deadline_at": 2, "status": "open"})

    assert (found.fields, found.values, found.answered_in) == ([], {}, None)
