import pytest

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.outputs import KernelOutput
from sandbox_server.drivers.kernels.session import JupyterSession
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.jupyter.execution import answer, output_model

pytestmark = pytest.mark.anyio


def test_an_output_goes_over_the_wire_by_its_own_names() -> None:
    model = output_model(KernelOutput("stream", name="stdout", text="a", display_id="x"))

    assert model.model_dump(exclude_none=True) == {"output_type": "stream", "name": "stdout", "text": "a"}


async def test_an_answer_says_what_became_of_the_code_and_hints_at_what_one_should_know() -> None:
    kernels = Kernels(Processes("/nowhere"), folder="/", default="python3", memory=1, warm=False)
    execution = Execution("code")
    execution.outputs += [KernelOutput("stream", name="stdout", text="a"), KernelOutput("stream", name="stdout", text="b")]
    execution.notes += ["one", "two"]
    execution.fail("Broken", "it is")

    reply = answer(JupyterSession("s", "python3", kernels, Tasks()), execution)

    assert (reply.data.status, reply.data.session_id, reply.data.code, reply.hint) == ("error", "s", "code", "one; two")
    assert [output.text or output.ename for output in reply.data.outputs] == ["ab", "Broken"]
