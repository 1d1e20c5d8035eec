from collections.abc import Sequence

import pytest

from sandbox_server.core import NotFound
from sandbox_server.drivers.stats.toolbox import Interpreter
from sandbox_server.features.sandbox_info import PackagesRequest, Sandbox, four_numbers
from sandbox_server.settings import AgentSettings

pytestmark = pytest.mark.anyio


class FakeToolbox:
    async def interpreters(self, language: str, names: Sequence[str]) -> list[Interpreter]:
        return [Interpreter("3.13.5", "/usr/bin/python3.13", ("python3",))] if language == "python" else []

    async def present(self, names: Sequence[str]) -> set[str]:
        return {"git", "jq"}

    async def python_packages(self) -> list[tuple[str, str]]:
        return [("requests", "2.32.3")]

    async def node_packages(self) -> list[tuple[str, str]]:
        return [("npm", "11.0.0")]


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(FakeToolbox(), AgentSettings(), "1.2.3")  # type: ignore[arg-type]


async def test_the_context_carries_its_own_keys_beside_the_envelope(sandbox: Sandbox) -> None:
    context = await sandbox.get_context()

    assert (context.home_dir, context.workspace, context.version) == ("/home/gem", "/home/gem", "1.2.3.0")
    assert context.message == "Environment information retrieved"


async def test_only_tools_that_are_installed_are_listed(sandbox: Sandbox) -> None:
    context = await sandbox.get_context()

    listed = [tool.name for category in context.detail.utils for tool in category.tools]
    assert sorted(listed) == ["git", "jq"]


async def test_the_prose_names_the_user_the_runtimes_and_the_tools(sandbox: Sandbox) -> None:
    prose = (await sandbox.get_context()).data or ""

    assert "System Environment (v1.2.3.0):" in prose
    assert "- User: gem, without sudo privileges" in prose
    assert "- Python 3.13.5 (commands: python3)" in prose
    assert "- Development: git" in prose


async def test_the_prose_says_what_sudo_gives_and_where_more_is_to_be_read() -> None:
    boss = Sandbox(FakeToolbox(), AgentSettings(), "1.2.3", root=True)  # type: ignore[arg-type]

    prose = (await boss.get_context()).data or ""

    assert "- User: gem, with sudo privileges" in prose
    assert "- API: /v1/docs, as OpenAPI /v1/openapi.json" in prose


async def test_packages_are_objects_over_http_and_lines_for_an_agent(sandbox: Sandbox) -> None:
    [package] = await sandbox.get_python_packages()
    reply = await sandbox.get_packages(PackagesRequest())

    assert (package.name, package.version) == ("requests", "2.32.3")
    assert reply.data == "Python Packages:\n  - requests==2.32.3\nNode.js Packages:\n  - npm==11.0.0"


async def test_an_agent_may_ask_for_one_language_by_its_short_name(sandbox: Sandbox) -> None:
    reply = await sandbox.get_packages(PackagesRequest(language="node"))

    assert reply.data == "Node.js Packages:\n  - npm==11.0.0"


async def test_where_nothing_starts_any_more_it_tells_what_it_knows_and_what_helps() -> None:
    class Ruined(FakeToolbox):
        async def present(self, names: Sequence[str]) -> set[str]:
            raise NotFound("cannot start: program 'bash'")

    context = await Sandbox(Ruined(), AgentSettings(), "1.2.3").get_context()  # type: ignore[arg-type]

    assert context.success
    assert (context.version, context.detail.system.user, context.detail.utils, context.detail.runtime.python) == ("1.2.3.0", "gem", [], [])
    assert "POST /v1/checkpoints/image/restore" in (context.hint or "")
    assert "program 'bash'" in (context.hint or "")


@pytest.mark.parametrize(("version", "said"), [("0.2.0", "0.2.0.0"), ("1.2", "1.2.0.0"), ("1.0.0.93", "1.0.0.93")])
async def test_the_version_has_the_four_numbers_that_clients_look_for(version: str, said: str) -> None:
    assert four_numbers(version) == said
