"""How a kernel starts, for every Python that there is."""

import anyio
import pytest

from sandbox_server.drivers.kernels.kernel import Bounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.lines import Line

pytestmark = pytest.mark.anyio

PATHS = "import sys, os; print(sys.version_info[:2], sys.path[0] == '', sys.path[-1], os.nice(0))"


@pytest.mark.parametrize("name", ["python3.10", "python3.11", "python3.12", "python3.13"])
async def test_a_kernel_is_of_the_python_that_was_asked_for_with_its_packages_last(kernels: Kernels, name: str) -> None:
    said: list[Line] = []
    version = name.removeprefix("python")
    with anyio.fail_after(180):  # longer than a kernel may take, so that this is said of it
        kernel = await kernels.take(name)
        await kernel.execute(PATHS, Bounds(10_000), said.append)
        await kernel.close()

    major, minor = version.split(".")
    assert "".join(line["text"] for line in said) == f"({major}, {minor}) True /opt/kernel/{version} 0\n"
