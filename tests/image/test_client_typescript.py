"""The TypeScript client, from its tarball, with a real sandbox and a person."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.client_tarball import installed_tarball, run_node
from tests.image.container import engine
from tests.image.test_control import Person, person
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

__all__ = ["person"]
BEGUN = """
import * as tandem from "tandem-client";
const { Sandbox } = tandem;
const sandbox = new Sandbox({ patience: Number(process.argv[2] ?? 0) });
const said = {};
"""
WORK = """
said.ran = await sandbox.shell.run("echo out; echo err >&2; exit 3", { cwd: "/tmp", env: { A: "b" } });
said.long = (await sandbox.shell.run("head -c 300000 /dev/zero | tr '\\\\0' x")).stdout.length;
said.late = (await sandbox.shell.run("sleep 60", { timeout: 0.5 })).status;
const data = Uint8Array.from({ length: 1 << 20 }, (_, index) => index);
await sandbox.files.write("~/client/data", data);
said.same = Buffer.compare(Buffer.from(await sandbox.files.read("~/client/data")), Buffer.from(data)) === 0;
await sandbox.files.write("~/client/text", "grüße");
said.text = await sandbox.files.readText("~/client/text");
said.entries = (await sandbox.files.entries("/home/gem/client")).map((entry) => entry.name).sort();
said.missing = await sandbox.files.read("/none").catch((error) => error.name);
const page = "data:text/html,<title>one</title><button onclick='document.title=2'>go</button><input id=name>";
said.title = (await sandbox.page.goto(page)).title;
await sandbox.page.click("text=go");
await sandbox.page.fill("#name", "ann");
await sandbox.page.press("Tab");
said.typed = await sandbox.page.evaluate("document.title + document.querySelector('#name').value");
const index = (await sandbox.page.elements()).find((element) => element.tag === "input").index;
await sandbox.page.fill({ index }, "bea");
said.again = await sandbox.page.evaluate("document.querySelector('#name').value");
said.read = [(await sandbox.page.text()).trim(), (await sandbox.page.html()).includes("go"), typeof (await sandbox.page.markdown())];
said.pictures = [await sandbox.page.screenshot(), await sandbox.screenshot()].map((each) => Buffer.from(each).toString("latin1", 1, 4));
said.link = (await fetch(await sandbox.viewUrl(), { redirect: "manual" })).status;
said.home = (await sandbox.api.whole("GET /v1/sandbox")).home_dir;
"""
BREAK = """
const events = sandbox.events();
said.first = (await events.next()).value.name;
said.pieces = [];
for await (const event of sandbox.shell.stream("echo begun >>~/ts-runs; for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done; exit 7")) {
  said.pieces.push(event.type === "output" ? event.text : event.exitCode);
  if (said.pieces.length === 2) console.error("break");
}
said.runs = await sandbox.files.readText("~/ts-runs");
const { id } = await sandbox.api.call("POST /v1/handoffs", { body: { reason: "after the break" } });
for await (const event of events) {
  if (event.name !== "handoffs" || !event.data.length) continue;
  said.heard = event.data.map((each) => each.reason);
  break;
}
await sandbox.api.call("DELETE /v1/handoffs/{id}", { path: { id } });
"""
UNDO = """
await sandbox.files.write("~/kept", "before");
said.thrown = await sandbox.attempt("before", async (before) => {
  await sandbox.files.write("~/kept", "after");
  said.changed = (await before.changes()).map((each) => each.path).includes("/home/gem/kept");
  throw new RangeError("no");
}).catch((error) => error.name);
said.kept = await sandbox.files.readText("~/kept");
"""
ENDED = "console.log(JSON.stringify(said)); process.exit(0);\n"
STARTED = """
const box = await Sandbox.start({ image: process.env.IMAGE, env: { DISABLE_JUPYTER: "true", DISABLE_CODE_SERVER: "true" } });
said.who = (await box.shell.run("sudo id -un", { check: true })).stdout.trim();
await box.close();
said.gone = await box.shell.run("true").catch((error) => error.name);
"""


@pytest.fixture(scope="module")
def package() -> Iterator[Path]:
    with installed_tarball() as folder:
        yield folder


def run(package: Path, sandbox: "Sandbox", script: str, patience: int = 0) -> dict[str, Any]:
    """Run a part of a program with the client; what it said."""
    env = {"SANDBOX_URL": sandbox.base_url, "SANDBOX_API_KEY": sandbox.api_key}
    said: dict[str, Any] = json.loads(run_node(package, BEGUN + script + ENDED, str(patience), env=env))
    return said


def test_commands_files_and_pages(package: Path, sandbox: "Sandbox") -> None:
    said = run(package, sandbox, WORK)
    assert (said["ran"]["exitCode"], said["ran"]["stdout"], said["ran"]["stderr"]) == (3, "out\n", "err\n")
    assert (said["long"], said["late"], said["same"], said["text"], said["missing"]) == (300_000, "timed_out", True, "grüße", "NotFound")
    assert said["entries"] == ["data", "text"]
    assert (said["title"], said["typed"], said["again"], said["read"]) == ("one", "2ann", "bea", ["go", True, "string"])
    assert (said["pictures"], said["home"]) == (["PNG", "PNG"], "/home/gem")
    assert said["link"] in (200, 303)


def test_output_and_events_go_on_where_the_connection_breaks_and_the_command_runs_once(package: Path, mended: "Sandbox") -> None:
    with ThreadPoolExecutor() as pool:
        running = pool.submit(run, package, mended, BREAK)
        until(lambda: mended.request("POST", "/v1/file/read", json={"file": "~/ts-runs"}).json()["success"])
        assert mended.exec("pkill", "-KILL", "-x", "nginx").code == 0
        said = running.result(PATIENCE_SECONDS)
    assert "".join(map(str, said["pieces"])) == "".join(f"{number}\n" for number in range(1, 9)) + "7"
    assert (said["runs"], said["heard"]) == ("begun\n", ["after the break"])


def test_what_an_attempt_throws_goes_back_to_the_checkpoint(package: Path, sandbox: "Sandbox") -> None:
    assert run(package, sandbox, UNDO) == {"changed": True, "thrown": "RangeError", "kept": "before"}


def test_a_person_answers_and_one_who_drives_is_waited_for(package: Path, sandbox: "Sandbox", person: Person) -> None:
    asking = 'said.answer = await sandbox.ask("Which?", { kind: "choice", choices: ["a", "b"], timeout: 600 });'
    with ThreadPoolExecutor() as pool:
        running = pool.submit(run, package, sandbox, asking)
        until(lambda: person.ask("GET", "/v1/handoffs").json()["data"])
        [asked] = person.ask("GET", "/v1/handoffs").json()["data"]
        person.ask("POST", f"/v1/handoffs/{asked['id']}/answer", json={"outcome": "done", "choice": "b"}).raise_for_status()
        answer = running.result(PATIENCE_SECONDS)["answer"]
        assert (answer["outcome"], answer["choice"]) == ("done", "b")

        held = person.control("take")
        going = (
            'said.gone = await sandbox.page.goto("data:text/html,<title>one</title>").then((at) => at.title, (e) => [e.name, e.holder]);'
        )
        assert run(package, sandbox, going)["gone"] == ["HeldByPerson", held["holder"]]
        waited = pool.submit(run, package, sandbox, going, 60)
        until(lambda: sandbox.request("GET", "/v1/control").json()["data"]["holder"])
        person.control("release")
        assert waited.result(PATIENCE_SECONDS)["gone"] == "one"


@pytest.mark.slow
def test_one_is_started_with_all_that_it_can_have_and_removed() -> None:
    """On the network of the engine's host, where what a container publishes is reached."""
    image = os.environ["TANDEM_IMAGE"]
    run_options = ("run", "--rm", "--network", "host", "--volume", "/var/run/docker.sock:/var/run/docker.sock")
    label = f"tandem.test={os.environ['TANDEM_RUN']}"
    env = {"IMAGE": image, "PATH": "/usr/bin"}
    ran = f"run_node(folder, {BEGUN + STARTED + ENDED!r}, env={env!r})"
    script = f"from tests.client_tarball import *\nwith installed_tarball() as folder: print({ran})"
    done = engine(*run_options, "--label", label, f"{image}:test", "/opt/venv/bin/python", "-c", script)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout) == {"who": "root", "gone": "Unreachable"}
