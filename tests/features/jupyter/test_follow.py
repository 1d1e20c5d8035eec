import anyio
import pytest

from sandbox_server.core import Event, InvalidArgument
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.features.jupyter.follow import EVENTS, ExecutionPosition, follow
from tests.event_types import assert_declared

pytestmark = pytest.mark.anyio


async def test_events_come_as_outputs_do_and_end_with_the_execution() -> None:
    execution, told = Execution("1"), list[Event]()

    async def read() -> None:
        async for event in follow(execution, ExecutionPosition("s", execution.id, 0)):
            told.append(event)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            while not told:
                await anyio.lowlevel.checkpoint()
            execution.fail("Broken", "it is")

    assert_declared(EVENTS, told)
    assert [(event.event, event.id) for event in told] == [
        ("status", f"s/{execution.id}/0"),
        ("output", f"s/{execution.id}/1"),
        ("exit", f"s/{execution.id}/1"),
    ]


def test_a_position_is_read_from_its_own_text() -> None:
    position = ExecutionPosition("s", "e", 3)
    assert ExecutionPosition.parse(str(position)) == position


@pytest.mark.parametrize("text", ["", "a/b", "a/b/c", "a/b/c/d"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        ExecutionPosition.parse(text)
