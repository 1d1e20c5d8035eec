"""Every method of the published SDK for what is built, by its blocking and by its asynchronous client, through the gateway.

What drives them is in `sdk/`, a file for each of the SDK's groups of methods.
"""

import importlib
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from agent_sandbox import AsyncSandbox
from agent_sandbox import Sandbox as BlockingSandbox

from tests.image.container import Sandbox
from tests.image.sdk.calls import SCENARIOS, Calls, Scenario
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

for file in sorted((Path(__file__).parent / "sdk").glob("*.py")):
    importlib.import_module(f"tests.image.sdk.{file.stem}")

GROUPS = (
    *("sandbox", "shell", "bash", "file", "skills", "display", "auth", "jupyter", "nodejs", "code", "util", "mcp", "proxy"),
    *("browser_page", "browser_tabs", "browser_captcha", "browser_network", "browser_cookies", "browser_state", "browser"),
)
"""The SDK's groups of methods that are built."""

UNUSABLE = {"file.watch_events": "it answers a stream of events, which the SDK reads to its end before it gives anything"}


@pytest.fixture(params=["blocking", "asynchronous"])
async def calls(sandbox: Sandbox, request: pytest.FixtureRequest) -> AsyncIterator[Calls]:
    if request.param == "blocking":
        with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            yield Calls(BlockingSandbox(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=client))
    else:
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            yield Calls(AsyncSandbox(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=client))


@pytest.mark.parametrize("scenario", list(dict.fromkeys(SCENARIOS.values())), ids=lambda scenario: scenario.__name__)
async def test_the_sdk(calls: Calls, scenario: Scenario) -> None:
    await scenario(calls)


def test_every_method_of_the_sdk_is_driven() -> None:
    client = BlockingSandbox(base_url="http://nowhere")
    methods = {
        f"{group}.{name}"
        for group in GROUPS
        for name, method in inspect.getmembers(getattr(client, group), inspect.ismethod)
        if not name.startswith("_")
    }

    assert methods == {*SCENARIOS, *UNUSABLE}
