"""The examples of the adapters for further frameworks, in a real sandbox with a person. A model is a script."""

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients.python.integrations import gemini_model as gemini
from tests.clients.python.integrations import responses_model as openai
from tests.examples import model as chat
from tests.examples.people import answering
from tests.image.test_control import Person, person
from tests.image.test_integrations import PAGE, PYTHON, ROOT, client, evaluate
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

__all__ = ["client", "person"]
pytestmark = pytest.mark.slow


def ran(name: str, sandbox: "Sandbox", more: dict[str, str], patience: float = 60) -> subprocess.CompletedProcess[str]:
    """Run an example to its end."""
    ours = {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.for_agent().api_key, "PATIENCE": str(patience)}
    words = [PYTHON, str(Path(ROOT, "examples", name))]
    return subprocess.run(words, env=os.environ | ours | more, capture_output=True, text=True, check=False, timeout=180)


def shown(name: str, sandbox: "Sandbox", more: dict[str, str], patience: float = 60) -> str:
    done = ran(name, sandbox, more, patience)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def openai_model(script: openai.ResponsesScript) -> dict[str, str]:
    return {"OPENAI_BASE_URL": script.url, "OPENAI_API_KEY": "none"}


def gemini_model(script: gemini.GeminiScript, name: str) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": script.url, "GOOGLE_API_KEY": "none", "MODEL": name}


PATCH = "*** Begin Patch\n*** Add File: notes.txt\n+hello from the patch\n*** End Patch"


def test_an_agent_of_openais_sdk_has_the_screen_a_workspace_and_a_person(client: dict[str, str], sandbox: "Sandbox") -> None:
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": PAGE}).raise_for_status()
    turns = [
        openai.acts("click", x=640, y=600, button="left"),
        openai.calls("ask_person", kind="confirm", question="Shall I type it?", choices=None, url=None),
        openai.acts("type", text="Ada"),
        {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH},
        openai.calls("exec_command", cmd="pwd; cat notes.txt"),
        openai.calls("run_command", command="cat ~/workspace/notes.txt"),
        openai.says("It is typed."),
    ]
    with openai.playing(*turns) as script, answering(sandbox, {"outcome": "done"}):
        text = shown("openai_agents_computer.py", sandbox, client | openai_model(script))
    until(lambda: evaluate(sandbox, "document.querySelector('#i').value") == "Ada")
    clicked, asked, _typed, _patched, listed, read = script.outputs()
    assert clicked["image_url"].startswith("data:image/png;base64,iVBOR")
    assert asked == "The person said yes."
    assert "/home/gem/workspace" in listed
    assert "hello from the patch" in listed
    assert "hello from the patch" in read
    assert "watch: http" in text
    assert "model: It is typed." in text


def test_a_run_of_openais_sdk_does_not_begin_while_a_person_drives(client: dict[str, str], sandbox: "Sandbox", person: Person) -> None:
    person.control("take")
    with openai.playing() as script:
        done = ran("openai_agents_computer.py", sandbox, client | openai_model(script), patience=1)
    assert done.returncode != 0
    assert "A person has control of the computer now, so nothing was done." in done.stderr
    assert script.asked == []


def test_an_agent_of_pydantic_ai_writes_after_a_yes_and_sees_the_screen(client: dict[str, str], sandbox: "Sandbox") -> None:
    path = "/home/gem/pydantic.txt"
    steps = [
        chat.calls("write_file", path=path, content="not allowed"),
        chat.calls("run_command", command=f"ls {path}"),
        chat.calls("write_file", path=path, content="hello"),
        chat.calls("read_file", path=path),
        chat.calls("take_screenshot"),
        chat.calls("ask_person", kind="choice", question="Which?", choices=["a", "b"]),
        chat.says("It is written."),
    ]
    answers = [{"outcome": "cannot", "note": "not now"}, {"outcome": "done"}, {"outcome": "done", "choice": "b"}]
    with chat.playing(*steps) as model, answering(sandbox, *answers):
        text = shown("pydantic_ai_agent.py", sandbox, client | model)
    assert "result: write_file was not called. The person said no. Do not do it. They wrote: not now" in text
    assert "No such file or directory" in text
    assert f"result: {path} is written.\nresult: hello\n" in text
    assert "result: a picture of image/png" in text
    assert "result: The person chose: b" in text
    assert "model: It is written." in text


def test_a_person_who_drives_is_told_of_by_pydantic_ai(client: dict[str, str], sandbox: "Sandbox", person: Person) -> None:
    person.control("take")
    with chat.playing(chat.calls("run_command", command="true"), chat.says("I wait")) as model:
        text = shown("pydantic_ai_agent.py", sandbox, client | model, patience=1)
    assert "result: A person has control of the computer now, so nothing was done." in text


@pytest.mark.parametrize(
    ("name", "typing"),
    [
        ("gemini-2.5-computer-use-preview-10-2025", [gemini.calls("type_text_at", x=500, y=500, text="Ada", press_enter=False)]),
        ("gemini-3-flash-preview", [gemini.calls("double_click", x=500, y=500), gemini.calls("type", text="Ada")]),
    ],
    ids=["gemini-2.5", "gemini-3"],
)
def test_an_agent_of_googles_kit_has_the_screen_and_a_person(
    client: dict[str, str], sandbox: "Sandbox", name: str, typing: list[gemini.Part]
) -> None:
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": PAGE}).raise_for_status()
    turns = [
        gemini.calls("ask_person", kind="confirm", question="Shall I type it?"),
        *typing,
        gemini.calls("run_command", command="echo $((6 * 7))"),
        gemini.says("It is typed."),
    ]
    with gemini.playing(*turns) as script, answering(sandbox, {"outcome": "done"}):
        text = shown("google_adk_computer.py", sandbox, client | gemini_model(script, name))
    until(lambda: evaluate(sandbox, "document.querySelector('#i').value") == "Ada")
    asked, *_, typed, ran_ = [answer["response"] for answer in script.responses()]
    assert asked["result"] == "The person said yes."
    assert typed["url"].startswith("data:text/html")
    assert ran_["result"].startswith("42\n")
    assert "model: It is typed." in text


def test_a_person_who_drives_is_told_of_by_googles_kit(client: dict[str, str], sandbox: "Sandbox", person: Person) -> None:
    person.control("take")
    with gemini.playing(gemini.calls("click", x=5, y=5), gemini.says("I wait")) as script:
        shown("google_adk_computer.py", sandbox, client | gemini_model(script, "gemini-3-flash-preview"), patience=1)
    [answer] = script.responses()
    assert "A person has control of the computer now, so nothing was done." in answer["response"]["error"]


KEEPING = """
import asyncio, io
from pathlib import Path
from agents.sandbox.manifest import Manifest
from tandem import AsyncSandbox
from tandem.integrations.openai_sandbox import TandemSandboxClient

async def main():
    async with AsyncSandbox() as sandbox:
        client = TandemSandboxClient(sandbox)
        async with await client.create(manifest=Manifest(root="/home/gem/paused")) as first:
            await first.write(Path("a.bin"), io.BytesIO(bytes(range(256))))
            kept = await first.persist_workspace()
        async with await client.create(manifest=Manifest(root="/home/gem/filled")) as second:
            await second.hydrate_workspace(kept)
            print((await second.read(Path("a.bin"))).read() == bytes(range(256)), [entry.path for entry in await second.ls(".")])

asyncio.run(main())
"""


def test_a_workspace_of_openais_sdk_is_kept_and_filled(client: dict[str, str], sandbox: "Sandbox") -> None:
    ours = {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.for_agent().api_key}
    done = subprocess.run([PYTHON, "-c", KEEPING], env=os.environ | ours | client, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "True ['/home/gem/filled/a.bin']\n"
