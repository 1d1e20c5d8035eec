import pytest

from sandbox_server.drivers.spawn.process_environment import ProcessEnvironment


def test_at_first_there_are_none() -> None:
    assert ProcessEnvironment().variables == {}


def test_others_take_the_place_of_those_that_there_were() -> None:
    environment, given = ProcessEnvironment(), {"A": "1"}
    environment.replace(given)
    before = environment.variables
    given["A"] = "2"
    environment.replace({"B": "3"})

    assert (before, environment.variables) == ({"A": "1"}, {"B": "3"})


def test_who_reads_them_changes_nothing() -> None:
    with pytest.raises(TypeError):
        ProcessEnvironment().variables["A"] = "1"  # type: ignore[index]


def test_each_owner_replaces_its_own() -> None:
    environment = ProcessEnvironment()
    environment.replace({"A": "1"})
    environment.replace({"B": "2"}, owner="secrets")
    environment.replace({}, owner="")
    assert environment.variables == {"B": "2"}
