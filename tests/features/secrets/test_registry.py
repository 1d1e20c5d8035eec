import pytest

from sandbox_server.core import InvalidArgument, NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.features.secrets import registry as module
from tests.features.secrets.conftest import BOUND, VALUE, RegistryLab, placeholder
from tests.patience import eventually
from tests.secret_servers import USERS
from tests.threads import Held, left_in_the_middle

pytestmark = pytest.mark.anyio


async def test_a_secret_reaches_the_egress_process_and_its_placeholder_the_programs(lab: RegistryLab) -> None:
    await lab.registry.put("A", {**BOUND, "variable": "TOKEN"}, VALUE)
    assert lab.egress.broker.values() == {"A": VALUE}
    assert lab.variables == {"X": placeholder("DECLARED"), "TOKEN": placeholder("A")}
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
        ({**BOUND, "source": {"vault": {"path": "x"}}}, VALUE, "value"),
        ({**BOUND, "source": {"env": "SANDBOX_API_KEY"}}, VALUE, "source"),
        ({**BOUND, "source": {"file": "/run/sandbox/api-key"}}, VALUE, "source"),
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


async def test_without_its_value_a_secret_is_given_to_nobody_new(lab: RegistryLab) -> None:
    await lab.registry.put("A", {**BOUND, "fill": ["https://a.example"]}, VALUE)
    elsewhere = [{"hosts": ["evil.example"]}]
    for document, field in (
        ({"bindings": elsewhere}, "bindings/0"),
        ({"bindings": [*BOUND["bindings"], *elsewhere]}, "bindings/1"),
        ({"fill": ["https://evil.example"]}, "fill"),
        ({**BOUND, "kind": "totp"}, "kind"),
    ):
        with pytest.raises(InvalidArgument, match="give the value again") as refused:
            await lab.registry.put("A", document, None)
        assert refused.value.details["field"] == field
    assert [binding.hosts for binding in lab.registry.get("A").bindings] == [(("a.example", 443),)]
    assert lab.egress.broker.values() == {"A": VALUE}
    await lab.registry.put("A", {"bindings": elsewhere}, "the-value-again")
    assert lab.egress.broker.values() == {"A": "the-value-again"}


async def test_a_value_is_not_kept_over_a_change_of_its_source(lab: RegistryLab) -> None:
    await lab.registry.put("A", BOUND, VALUE)
    elsewhere = {"bindings": [{"hosts": ["evil.example"]}]}
    await lab.registry.put("A", {**elsewhere, "source": {"vault": {"path": "x"}}}, None)
    assert lab.egress.broker.values() == {}
    with pytest.raises(InvalidArgument, match="value: is missing"):
        await lab.registry.put("A", elsewhere, None)


async def test_a_secret_that_is_put_before_the_values_came_back_loses_none(lab: RegistryLab) -> None:
    await lab.registry.put("A", BOUND, VALUE)
    another = lab.made()
    await another.put("B", BOUND, "the-value-of-b")
    assert lab.egress.broker.values() == {"A": VALUE, "B": "the-value-of-b"}


async def test_a_restart_binds_no_value_to_what_it_was_not_given_for(lab: RegistryLab, monkeypatch: pytest.MonkeyPatch) -> None:
    await lab.registry.put("A", BOUND, VALUE)
    answers = lab.egress.ask

    async def is_away(op: str, **fields: object) -> dict[str, object]:
        if op == "secrets":
            raise Unavailable("the egress process does not answer")
        return await answers(op, **fields)

    monkeypatch.setattr(lab.egress, "ask", is_away)
    with pytest.raises(Unavailable):
        await lab.registry.put("A", {"bindings": [{"hosts": ["evil.example"]}]}, "a-value-to-be-lost")
    monkeypatch.setattr(lab.egress, "ask", answers)
    another = lab.made()
    await another.give()
    assert await another.value("A") == VALUE
    assert [binding.hosts for binding in another.get("A").bindings] == [(("a.example", 443),)]


async def test_the_egress_process_is_told_whose_connections_get_values(lab: RegistryLab) -> None:
    assert lab.egress.broker._users == SecretUsers()
    await lab.registry.give()
    assert lab.egress.broker._users == USERS
