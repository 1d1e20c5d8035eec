import pytest

from tests.features.shell.conftest import Runner

pytestmark = pytest.mark.anyio


async def test_true(run: Runner) -> None:
    r = await run("echo hi; false")
    print(r)
    assert r.output == "hi\n"
    assert r.exit_code == 1
