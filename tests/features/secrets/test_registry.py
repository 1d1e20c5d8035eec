import pytest

from sandbox_server.core import InvalidArgument, NotFound, ResourceExhausted, Unavailable
from sandbox_server.features.secrets import registry as module
from sandbox_server.settings.secrets import placeholder_of
from tests.features.secrets.conftest import BOUND, VALUE, RegistryLab
from tests.patience import eventually
from tests.threads import Held, left_in_the_middle

pytestmark = pytest.mark.anyio


async def test_a_secret_reaches_the_egress_process_and_its_placeholder_the_programs(lab: RegistryLab) -> None:
    await lab.registry.put("A", {**BOUND, "variable": "TOKEN"}, VALUE)
    assert lab.egress.broker.values() == {"A": VALUE}
    assert lab.variables == {"X": placeholder_of("DECLARED"), "TOKEN": placeholder_of("A")}
    assert lab.trusted[-1] == lab.egress.broker.authority().pem
    assert VALUE not in lab.path.read_text()
    assert VALUE not in str(lab.registry.listed())


async def test_without_a_value_the_old_one_is_kept(lab: RegistryLab) -> None:
    with pytest.raises(InvalidArgument, match="value: is missing"):
        await lab.registry.put("A", BOUND, None)
    await lab.registry.put("A", BOUND, VALUE)
    await lab.registry.put("A", {**BOUND, "variable": "V"}, None)
    assert lab.egress.broker.values() == {"A": VALUE}
    await lab.registry.remove("A")
    assert lab.egress.broker.values() == {}
    assert lab.path.read_text() == "{}"


async def test_each_process_gives_the_values_to_the_other_after_it_was_started_again(lab: RegistryLab) -> None:
    await lab.registry.put("A", BOUND, VALUE)
    lab.egress.start_again()
    await lab.registry.give()
    assert lab.egress.broker.values() == {"A": VALUE}
    another = lab.made()
    await another.give()
    assert await another.value("A") == VALUE
    assert lab.egress.broker.values() == {"A": VALUE}


async def test_a_value_that_both_lost_is_said_to_be_lost(lab: RegistryLab) -> None:
    await lab.registry.put("A", BOUND, VALUE)
    lab.egress.start_again()
    another = lab.made()
    await another.give()
    with pytest.raises(Unavailable, match="put it again"):
        await another.value("A")
    assert [(each.name, has) for each, has, _ in another.listed()] == [("A", False), ("DECLARED", True)]


async def test_what_the_container_declares_is_not_changed(lab: RegistryLab) -> None:
    with pytest.raises(InvalidArgument, match="declared"):
        await lab.registry.put("DECLARED", BOUND, VALUE)
    with pytest.raises(InvalidArgument, match="declared"):
        await lab.registry.remove("DECLARED")
    with pytest.raises(NotFound):
        await lab.registry.remove("NONE")


@pytest.mark.parametrize(
    ("document", "value", "field"),
    [
        ({}, VALUE, "bindings"),
        (BOUND, "a\r\nb: cccc", "value"),
        (BOUND, "short", "value"),
        ({**BOUND, "source": {"env": "X"}}, VALUE, "value"),
        ({**BOUND, "variable": "X"}, VALUE, "variable"),
    ],
)
async def test_what_is_wrong_is_named_and_changes_nothing(lab: RegistryLab, document: dict[str, object], value: str, field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await lab.registry.put("A", document, value)
    assert refused.value.details["field"] == field
    assert value not in refused.value.message
    assert len(lab.registry.listed()) == 1


async def test_so_many_are_kept(lab: RegistryLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECRETS", 1)
    with pytest.raises(ResourceExhausted):
        await lab.registry.put("A", BOUND, VALUE)


async def test_a_value_of_a_source_is_fetched_when_it_is_needed(lab: RegistryLab) -> None:
    await lab.registry.give()
    assert lab.fetched == []
    lab.registry.hear({"event": "secret_needed", "name": "DECLARED"})
    await eventually(lambda: lab.egress.broker.values() == {"DECLARED": "value of DECLARED"})


async def test_a_source_that_gives_none_is_said(lab: RegistryLab) -> None:
    await lab.registry.put("BROKEN", {**BOUND, "source": {"vault": {"path": "x"}}}, None)
    with pytest.raises(Unavailable, match="it is sealed"):
        await lab.registry.value("BROKEN")
    lab.registry.hear({"event": "secret_needed", "name": "BROKEN"})
    lab.registry.hear({"event": "secret", "name": "DECLARED", "outcome": "sent", "at": 5.0})
    lab.registry.hear({"event": "authority"})
    await eventually(lambda: lab.trusted)
    assert {each.name: used for each, _, used in lab.registry.listed()} == {"BROKEN": None, "DECLARED": 5.0}


async def test_definitions_that_cannot_be_read_are_left_out(lab: RegistryLab) -> None:
    lab.path.write_text('{"A": {"nothing": 1}}')
    assert [each.name for each, _, _ in lab.made().listed()] == ["DECLARED"]


@pytest.mark.parametrize("first", ["put", "forget"])
async def test_who_leaves_while_secrets_are_kept_lets_nobody_write_beside_that(
    lab: RegistryLab, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    held = Held(lab.file.write)
    monkeypatch.setattr(lab.file, "write", held)
    leaving = lab.registry.put("A", BOUND, VALUE) if first == "put" else lab.registry.forget()
    await left_in_the_middle(leaving, lab.registry.put("B", BOUND, VALUE), held)
    assert list(lab.file.read()) == (["A", "B"] if first == "put" else ["B"])
