"""One checkpoint with what it keeps, and its programs."""

import pytest

from sandbox_server.core import Call, Caller, Conflict, NotFound
from sandbox_server.drivers.forks.fork_state import KeptField, KeptProgram, KeptShell, KeptState, KeptTab
from sandbox_server.features.box.checkpoint_details import CheckpointDetails, CheckpointProgramRef
from sandbox_server.features.box.checkpoint_state import CheckpointStates
from sandbox_server.features.box.checkpoints import CheckpointRef
from tests.features.box.conftest import CALL, FakeBox

pytestmark = pytest.mark.anyio
RECORD = {"id": "a", "parent": None, "label": "", "who": "x", "why": "asked", "created": 1.0}
PROGRAMS = (
    KeptProgram(("sleep", "two words"), "/usr", 1000, "bash:1"),
    KeptProgram(("curl ***",), "/", 1000, whole=False),
    KeptProgram(("apt", "install"), "/", 0),
    KeptProgram(("ls",), "", 1000),
)
TAB = KeptTab("https://a.example/", "A", front=True, y=7.0, fields=(KeptField(":root", "text", "Mia"),))


class Made:
    """The operations, and what they started."""

    def __init__(self, daemon: FakeBox) -> None:
        self.started: list[tuple[str, str]] = []
        state = KeptState((KeptShell("main", "/home/gem", "declare -x A=1"),), (TAB,), PROGRAMS, ("shells: slow",)).dumps()
        daemon.answers |= {"list": {"checkpoints": [RECORD]}, "state": {"state": state}}
        self.details = CheckpointDetails(daemon, CheckpointStates(daemon, str), self._start, agent=1000)

    async def _start(self, command: str, directory: str) -> tuple[str, str]:
        self.started.append((command, directory))
        return "s", "c"


@pytest.fixture
def made(daemon: FakeBox) -> Made:
    return Made(daemon)


async def test_it_tells_shells_tabs_and_programs_and_no_values_of_fields(made: Made) -> None:
    told = await made.details.get_checkpoint(CheckpointRef(checkpoint_id="a"), CALL)
    assert [(each.id, each.directory) for each in told.shells] == [("main", "/home/gem")]
    assert [(each.url, each.front, each.y, each.fields) for each in told.tabs] == [("https://a.example/", True, 7.0, 1)]
    assert [each.startable for each in told.programs] == [True, False, False, False]
    assert told.problems == ["shells: slow"]
    assert "Mia" not in told.model_dump_json()
    with pytest.raises(NotFound):
        await made.details.get_checkpoint(CheckpointRef(checkpoint_id="b"), CALL)


async def test_a_token_of_the_shell_alone_sees_no_tabs(made: Made) -> None:
    told = await made.details.get_checkpoint(CheckpointRef(checkpoint_id="a"), Call(Caller("x", frozenset({"shell"})), "r"))
    assert (told.tabs, len(told.shells)) == ([], 1)


async def test_a_program_is_started_with_its_words_where_it_was(made: Made) -> None:
    started = await made.details.start_checkpoint_program(CheckpointProgramRef(checkpoint_id="a", number=0))
    assert (started.session_id, started.command_id) == ("s", "c")
    assert made.started == [("sleep 'two words'", "/usr")]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_one_with_a_secret_of_another_user_or_of_no_place_is_not(made: Made, number: int) -> None:
    with pytest.raises(Conflict):
        await made.details.start_checkpoint_program(CheckpointProgramRef(checkpoint_id="a", number=number))
    assert made.started == []


async def test_one_that_there_is_not_is_not_found(made: Made) -> None:
    with pytest.raises(NotFound, match="4 programs"):
        await made.details.start_checkpoint_program(CheckpointProgramRef(checkpoint_id="a", number=4))
