"""What is told of a profile that cannot be used."""

from sandbox_server.drivers.profiles.problem import damaged, malformed


def test_damage_is_a_conflict_and_a_wrong_file_an_argument() -> None:
    assert (damaged("x").kind, damaged("x").reason, damaged("x").message) == ("conflict", "damaged", "the profile is damaged: x")
    assert (malformed("x").kind, malformed("x").reason) == ("invalid_argument", "malformed")
