"""The parts of an API key."""

from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.tenants import ApiKey, Secret, beyond, is_key

NOW = datetime.now(UTC)


def test_a_key_is_read_as_it_was_made_and_keeps_no_secret() -> None:
    for _ in range(200):
        made = Secret.new()
        assert Secret.parse(str(made)) == made
        assert made.secret not in made.digest
        assert made.matches(made.digest)
        assert not Secret.new().matches(made.digest)


@pytest.mark.parametrize(
    "sent", ["", "tnd_", "tnd_a_b", "tnd_" + "a" * 12 + "_" + "b" * 44, " " + str(Secret.new()), str(Secret.new()) + "\n"]
)
def test_what_is_no_key_has_no_parts(sent: str) -> None:
    assert Secret.parse(sent) is None


def test_a_key_is_told_from_the_services_own() -> None:
    assert is_key("tnd_x")
    assert not is_key("x_tnd_")


def test_a_key_ends_when_it_expires_or_is_revoked() -> None:
    key = ApiKey(id="a", tenant="one", name="n", scopes=[], created_at=NOW)
    assert key.holds(NOW)
    assert not key.model_copy(update={"revoked_at": NOW}).holds(NOW)
    ending = key.model_copy(update={"expires_at": NOW + timedelta(seconds=1)})
    assert ending.holds(NOW)
    assert not ending.holds(NOW + timedelta(seconds=1))


def test_what_a_maker_has_not_is_said() -> None:
    assert beyond(["operate", "people", "admin"], ["admin"]) == ["operate", "people"]
