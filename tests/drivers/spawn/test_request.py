import pytest

from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message
from sandbox_server.drivers.spawn.child_setup import NICE, OOM_SCORE, Account
from sandbox_server.drivers.spawn.request import SpawnRequests

GEM, DESKTOP = (Account(name, uid, uid, (), f"/home/{name}") for name, uid in (("gem", 1000), ("desktop", 1001)))


@pytest.fixture
def asked() -> SpawnRequests:
    return SpawnRequests({"agent": GEM, "desktop": DESKTOP}, {"PATH": "/bin", "LANG": "C"}, {"data": 1 << 30}, "/run/agent")


def test_a_request_gets_the_agent_s_environment_and_limits(asked: SpawnRequests) -> None:
    program = asked.program({"argv": ["x"], "env": {"LANG": None, "A": "b"}, "limits": {"cpu": 5}}, GEM, [])
    assert program.environment == {"PATH": "/bin", "HOME": "/home/gem", "USER": "gem", "LOGNAME": "gem", "A": "b"}
    assert (program.limits, program.oom_score) == ({"data": 1 << 30, "cpu": 5}, OOM_SCORE)


def test_the_desktop_s_programs_have_no_such_limits(asked: SpawnRequests) -> None:
    assert asked.program({"argv": ["x"], "user": "desktop"}, DESKTOP, []).limits == {}


def test_the_desktop_s_programs_have_full_weight_and_the_agent_s_less(asked: SpawnRequests) -> None:
    assert asked.program({"argv": ["x"], "user": "desktop"}, DESKTOP, []).nice == 0
    assert asked.program({"argv": ["x"]}, GEM, []).nice == NICE


def test_a_user_who_is_not_there_is_refused(asked: SpawnRequests) -> None:
    with pytest.raises(PermissionError, match="root"):
        asked.account("root")


@pytest.mark.parametrize("request_", [{"argv": []}, {"argv": "x"}, {"argv": ["x"], "limits": {"more": 1}}])
def test_what_is_no_request_is_refused(asked: SpawnRequests, request_: Message) -> None:
    with pytest.raises(MalformedMessageError):
        asked.program(request_, GEM, [])


def test_only_what_runs_as_the_agent_can_be_isolated(asked: SpawnRequests) -> None:
    with pytest.raises(MalformedMessageError, match="isolated"):
        asked.program({"argv": ["x"], "isolation": {}}, DESKTOP, [])
