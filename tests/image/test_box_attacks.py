"""The box against an agent: its layers, its archives, who starts its programs, and the desktop that lives in it."""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.image.test_box import bash, post
from tests.image.test_control import Person
from tests.patience import until

Start = Callable[..., Sandbox]
ONE = {"parent": None, "label": "x", "who": "x", "why": "asked", "created": 1.0}


@pytest.fixture(scope="module")
def attacked() -> Iterator[Sandbox]:
    """A container with a box, for these tests alone."""
    launcher = new_launcher("attacked")
    try:
        yield launcher.start()
    finally:
        launcher.remove()


def archive(records: list[dict[str, Any]], *links: tuple[str, str]) -> bytes:
    """An archive of checkpoints, with links in the first layer."""
    out = io.BytesIO()
    content = json.dumps({"format": 1, "checkpoints": records}).encode()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as made:
        info = tarfile.TarInfo("tandem-checkpoint.json")
        info.size = len(content)
        made.addfile(info, io.BytesIO(content))
        for name, target in links:
            link = tarfile.TarInfo(f"layers/{records[0]['id']}/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, target
            made.addfile(link)
    return out.getvalue()


def imported(sandbox: Sandbox, content: bytes) -> Any:
    return sandbox.request("POST", "/v1/checkpoints/import", content=content, headers={"content-type": "application/gzip"})


@pytest.mark.parametrize("part", ["opt", "etc", "usr"])
def test_an_archive_with_a_link_in_the_place_of_a_part_is_refused(attacked: Sandbox, part: str) -> None:
    reply = imported(attacked, archive([ONE | {"id": "00000001"}], (part, "/run/sandbox")))
    assert reply.status_code == 400, reply.text
    assert attacked.api_key not in bash(attacked, "sudo cat /opt/api-key /etc/api-key; true")["stdout"]


def test_a_link_that_the_agent_left_leads_no_volume_of_the_next_container_astray(start_sandbox: Start) -> None:
    first = start_sandbox()
    bash(first, "sudo rmdir /srv && sudo ln -s /run/sandbox /srv")
    post(first, "/v1/checkpoints", label="bad")
    first.exec("true")
    first.stop()
    second = start_sandbox(args=[f"--volumes-from={first.name}", "--volume=/srv/data"])
    assert bash(second, "stat -c %F /srv /srv/data")["stdout"].split("\n")[:2] == ["directory", "directory"]
    assert second.api_key not in bash(second, "sudo find /srv -type f -exec cat {} +; sudo cat /srv/api-key; true")["stdout"]
    assert second.exec("ls", "/run/sandbox/data").code != 0


def test_a_chain_that_no_box_can_stand_on_is_refused_and_the_box_goes_on(attacked: Sandbox) -> None:
    reply = imported(attacked, archive([ONE | {"id": f"{number:08x}"} for number in range(600)]))
    assert reply.status_code == 400, reply.text
    assert imported(attacked, archive([ONE | {"id": "00000001", "label": 7}])).status_code == 400
    assert attacked.request("GET", "/v1/checkpoints").status_code == 200
    assert bash(attacked, "echo here")["stdout"] == "here\n"


def test_a_spawner_that_hangs_is_not_ready_until_it_goes_on(attacked: Sandbox) -> None:
    attacked.exec("sh", "-c", "kill -STOP $(pgrep -o -f 'sandbox_server spawn$')")
    try:
        until(lambda: not attacked.answers("/readyz"))
    finally:
        attacked.exec("sh", "-c", "kill -CONT $(pgrep -o -f 'sandbox_server spawn$')")
    attacked.wait_ready()


ENDING = ["/v1/suspend", "/v1/box/restart", "/v1/checkpoints", "/v1/checkpoints/image/restore"]


def test_a_program_ends_no_desktop_that_a_person_holds(attacked: Sandbox) -> None:
    person = Person(attacked)
    for reach in ("gui", "cdp", "shell"):
        person.control("take", reach=[reach])
        for path in ENDING:
            assert attacked.request("POST", path, json={"mode": "stop"}).status_code == 423, (reach, path)
        person.control("release")
    assert attacked.request("POST", "/v1/box/restart").status_code == 200


@pytest.mark.parametrize("mode", ["auto", "live", "stop"])
def test_a_program_stops_no_desktop_that_a_person_holds_for_a_moment(attacked: Sandbox, mode: str) -> None:
    person = Person(attacked)
    for reach in ("gui", "cdp", "shell"):
        person.control("take", scope=[reach])
        refused = attacked.request("POST", "/v1/checkpoints", json={"mode": mode})
        assert (refused.status_code, attacked.request("POST", "/v1/resume").status_code) == (423, 423), (reach, refused.text)
        person.control("release")
    assert attacked.request("POST", "/v1/resume").status_code == 200


def workers_of(sandbox: Sandbox) -> set[str]:
    """The process ids of the box daemon and of what it has forked."""
    return set(sandbox.exec("pgrep", "-f", "sandbox_server box").stdout.split())


def test_a_checkpoint_that_is_copied_ends_when_a_person_takes_control(attacked: Sandbox) -> None:
    bash(attacked, "mkdir -p ~/many && cd ~/many && for i in $(seq 20000); do echo $i > $i; done; sync; (sleep 300 &) >/dev/null 2>&1")
    before = attacked.request("GET", "/v1/checkpoints").json()["data"]["checkpoints"]
    person = Person(attacked)
    daemons = workers_of(attacked)
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(attacked.request, "POST", "/v1/checkpoints", json={"mode": "live"})
        until(lambda: workers_of(attacked) - daemons)
        person.control("take", scope=["gui"])
        ended = making.result()
    assert (ended.status_code, "interrupted" in ended.json()["message"]) == (423, True), ended.text
    assert attacked.request("GET", "/v1/checkpoints").json()["data"]["checkpoints"] == before
    person.control("release")


def test_the_context_is_told_after_everything_was_removed(attacked: Sandbox) -> None:
    bash(attacked, "sudo rm -rf --no-preserve-root / 2>/dev/null; true", timeout=120)
    reply = attacked.request("GET", "/v1/sandbox")
    assert (reply.status_code, reply.json()["detail"]["system"]["user"]) == (200, "gem")
    post(attacked, "/v1/checkpoints/image/restore")
    assert bash(attacked, "echo back")["stdout"] == "back\n"
