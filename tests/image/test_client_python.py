"""The Python client, from its wheel, with a real sandbox and a person."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.client_wheel import unpacked_wheel
from tests.image.container import engine
from tests.image.test_control import Person, person
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tandem import Sandbox as Client

    from tests.image.container import Sandbox

__all__ = ["person"]
PAGE = "data:text/html,<title>one</title><button onclick='document.title=2'>go</button><input id=name>"
STARTED = """
set -e
cd /opt/tandem/clients/python
/opt/venv/bin/python -m hatchling build --target wheel --directory /tmp/wheel >/dev/null
mkdir /tmp/client && cd /tmp/client && /opt/venv/bin/python -m zipfile --extract /tmp/wheel/*.whl .
exec /opt/venv/bin/python -c "
from tandem import Sandbox
with Sandbox.start('$IMAGE', env={'DISABLE_JUPYTER': 'true', 'DISABLE_CODE_SERVER': 'true'}) as sandbox:
    print(sandbox.shell.run('sudo id -un', check=True).stdout.strip(), sandbox._started.container)
"
"""


@pytest.fixture(scope="module")
def package() -> Iterator[Path]:
    """Where the package is imported from."""
    with unpacked_wheel() as folder:
        sys.path.insert(0, str(folder))
        yield folder
        sys.path.remove(str(folder))


@pytest.fixture
def client(sandbox: "Sandbox", package: Path) -> Iterator["Client"]:
    yield from _client_of(sandbox)


@pytest.fixture
def mended_client(mended: "Sandbox", package: Path) -> Iterator["Client"]:
    yield from _client_of(mended)


def _client_of(sandbox: "Sandbox") -> Iterator["Client"]:
    from tandem import Sandbox as Client

    with Client(sandbox.base_url, sandbox.api_key) as made:
        yield made


def test_commands_files_and_pages(client: "Client", tmp_path: Path) -> None:
    from tandem import CommandFailed, NotFound

    done = client.shell.run("echo out; echo err >&2; exit 3", cwd="/tmp", env={"A": "b"})
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    with pytest.raises(CommandFailed):
        client.shell.run("false", check=True)
    assert len(client.shell.run("head -c 300000 /dev/zero | tr '\\0' x").stdout) == 300_000
    assert client.shell.run("sleep 60", timeout=0.5).status == "timed_out"

    data = bytes(range(256)) * 5000
    tmp_path.joinpath("up").write_bytes(data)
    client.files.upload(tmp_path / "up", "~/client/data")
    client.files.download("~/client/data", tmp_path / "down")
    assert tmp_path.joinpath("down").read_bytes() == data
    assert [(entry.name, entry.size) for entry in client.files.entries("/home/gem/client")] == [("data", len(data))]
    for look in (client.files.read, client.files.entries):
        with pytest.raises(NotFound):
            look("/none")

    assert client.page.goto(PAGE).title == "one"
    client.page.click("text=go")
    client.page.fill("ann", "#name")
    assert client.page.evaluate("document.title + document.querySelector('#name').value") == "2ann"
    assert client.page.text().strip() == "go"
    assert client.page.screenshot().startswith(b"\x89PNG")
    assert "data:image/png" in client._repr_html_()
    client.page.press("Tab")
    assert "go" in client.page.html()
    assert client.page.markdown() is not None
    assert {element.name for element in client.page.elements()} >= {"go"}
    assert client.screenshot().startswith(b"\x89PNG")
    assert httpx.get(client.view_url(), follow_redirects=False, trust_env=False).status_code in (200, 303)
    assert client.api.sandbox.get_context().home_dir == "/home/gem"


def test_output_is_followed_where_the_connection_breaks_and_the_command_runs_once(mended_client: "Client", mended: "Sandbox") -> None:
    from tandem._sync.shell import Output

    command = "echo begun >>~/runs; for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done; exit 7"
    pieces = []
    for piece in mended_client.shell.stream(command):
        pieces.append(piece)
        if len(pieces) == 2:
            assert mended.exec("pkill", "-KILL", "-x", "nginx").code == 0
    assert "".join(piece.text for piece in pieces if isinstance(piece, Output)) == "".join(f"{number}\n" for number in range(1, 9))
    [result] = [piece for piece in pieces if not isinstance(piece, Output)]
    assert result.exit_code == 7
    assert mended_client.files.read_text("~/runs") == "begun\n"


def test_events_go_on_where_the_connection_breaks(mended_client: "Client", mended: "Sandbox") -> None:
    from tandem import TandemError

    handoffs: list[str] = []

    def ask() -> bool:
        try:
            handoffs.append(mended_client.api.handoffs.request_human(reason="after the break").id)
        except TandemError:  # the gateway is not back yet
            return False
        return True

    events = iter(mended_client.events())
    assert next(events).name
    assert mended.exec("pkill", "-KILL", "-x", "nginx").code == 0
    until(ask)
    heard = next(event for event in events if event.name == "handoffs" and event.data)
    assert [each["reason"] for each in heard.data] == ["after the break"]
    mended_client.api.handoffs.cancel_handoff(handoffs[-1])


def test_an_error_goes_back_to_the_checkpoint(client: "Client") -> None:
    client.files.write("~/kept", "before")

    def fail() -> None:
        with client.checkpoint("before", restore_on_error=True) as made:
            client.files.write("~/kept", "after")
            assert "/home/gem/kept" in [found.path for found in made.changes()]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert client.files.read_text("~/kept") == "before"


def test_a_person_answers_and_one_who_drives_is_waited_for(client: "Client", sandbox: "Sandbox", person: Person) -> None:
    from tandem import HeldByPerson
    from tandem import Sandbox as Client

    with ThreadPoolExecutor() as pool:
        asking = pool.submit(client.ask, "Which?", kind="choice", choices=["a", "b"], timeout=PATIENCE_SECONDS)
        until(lambda: client.api.handoffs.list_handoffs())
        [asked] = client.api.handoffs.list_handoffs()
        person.ask("POST", f"/v1/handoffs/{asked.id}/answer", json={"outcome": "done", "choice": "b"}).raise_for_status()
        answer = asking.result(PATIENCE_SECONDS)
    assert (answer.outcome, answer.choice) == ("done", "b")
    assert client.ask("Nobody?", timeout=1).outcome == "timeout"

    held = person.control("take")
    with pytest.raises(HeldByPerson) as refused:
        client.page.goto(PAGE)
    assert (refused.value.holder, refused.value.epoch) == (held["holder"], held["epoch"])
    with pytest.raises(TimeoutError):
        client.control.wait(0.1)
    releasing = threading.Timer(1.0, person.control, ["release"])
    with Client(sandbox.base_url, sandbox.api_key, patience=PATIENCE_SECONDS) as patient:
        releasing.start()
        begun = time.monotonic()
        assert patient.page.goto(PAGE).title == "one"
        assert time.monotonic() - begun > 0.5
    releasing.join()
    assert client.control.wait(PATIENCE_SECONDS).holder is None


@pytest.mark.anyio
async def test_the_asynchronous_client_is_the_same(sandbox: "Sandbox", package: Path) -> None:
    from tandem import AsyncSandbox

    async with AsyncSandbox(sandbox.base_url, sandbox.api_key) as box:
        results = await asyncio.gather(*(box.shell.run(f"echo {number}") for number in range(5)))
        assert [result.stdout for result in results] == [f"{number}\n" for number in range(5)]
        async for event in box.events():
            assert event.name
            break


@pytest.mark.slow
def test_one_is_started_with_all_that_it_can_have_and_removed() -> None:
    """On the network of the engine's host, where what a container publishes is reached."""
    image = os.environ["TANDEM_IMAGE"]
    run = ("run", "--rm", "--network", "host", "--env", f"IMAGE={image}", "--volume", "/var/run/docker.sock:/var/run/docker.sock")
    done = engine(*run, "--label", f"tandem.test={os.environ['TANDEM_RUN']}", f"{image}:test", "bash", "-c", STARTED)
    assert done.code == 0, done.stderr
    who, container = done.stdout.split()
    assert who == "root"
    assert engine("inspect", container).code != 0
