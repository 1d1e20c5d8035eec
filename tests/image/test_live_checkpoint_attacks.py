"""What the agent does as root while its files are copied: it takes bounded time, nothing is lost, no link leads out."""

import time
from collections.abc import Iterator

import httpx
import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.image.test_box import bash, post
from tests.patience import until

SECONDS = 60.0
"""In which a checkpoint is made or refused; nothing here is more than some MiB."""
SMALL = ["--memory=3g", "--tmpfs=/sandbox:size=400m,nr_inodes=30k,mode=700,exec"]
BOMB = "bomb() { bomb | bomb & }; while :; do bomb; done 2>/dev/null"
SWAP = """
import os, shutil, socket
os.makedirs("/srv/swap/real", exist_ok=True)
open("/srv/swap/real/own", "w").write("own")
os.chdir("/srv/swap")
names = ["/about", "/", "/proc/self/root/l", "/etc", "../../.."]
number = 0
while True:
    number += 1
    try:
        os.rename("real", "aside"); os.symlink(names[number % len(names)], "real")
        os.unlink("real"); os.rename("aside", "real")
        for kind in ("file", "link", "pipe", "socket", "folder"):
            if kind == "file": open("thing", "w").write("x" * 5000)
            if kind == "link": os.symlink("/state.json", "thing")
            if kind == "pipe": os.mkfifo("thing")
            if kind == "socket":
                with socket.socket(socket.AF_UNIX) as one: one.bind("thing")
            if kind == "folder": os.mkdir("thing")
            (os.rmdir if kind == "folder" else os.unlink)("thing")
    except OSError:
        pass
"""
GROW = """
import os, time
os.makedirs("/srv/grow", exist_ok=True)
block, number, ends = b"x" * 65536, 0, time.monotonic() + 120
files = [open(f"/srv/grow/{n}", "wb") for n in range(20)]
while time.monotonic() < ends:
    for file in files:
        file.write(block); file.flush()
        if file.tell() > 4 << 20: file.seek(0); file.truncate()
    number += 1
    folder = f"/srv/grow/f{number % 50}/" + "/".join("d" * (number % 20))
    os.makedirs(folder, exist_ok=True)
    open(f"{folder}/x", "wb").write(block)
"""


@pytest.fixture(scope="module")
def attacked() -> Iterator[Sandbox]:
    """A container whose box is on a small filesystem, with something that must not be lost."""
    launcher = new_launcher("live-attacks")
    try:
        sandbox = launcher.start(args=SMALL)
        bash(sandbox, "echo precious > ~/precious; mkdir -p ~/tree/a; ln ~/precious ~/tree/hard; ln -s /etc/shadow ~/tree/link")
        yield sandbox
    finally:
        launcher.remove()


@pytest.fixture(autouse=True)
def clean(attacked: Sandbox) -> Iterator[None]:
    """Whatever a test left running ends with the box that it was in."""
    yield
    post(attacked, "/v1/box/restart")
    bash(attacked, "sudo rm -rf /srv/*")


def keep(sandbox: Sandbox, **request: object) -> httpx.Response:
    """Ask for a checkpoint; it is answered in time, and not by an error of ours."""
    began = time.monotonic()
    answer = sandbox.request("POST", "/v1/checkpoints", json=request)
    assert time.monotonic() - began < SECONDS
    assert answer.status_code in (200, 429, 503), answer.text
    return answer


def starts(sandbox: Sandbox, name: str, program: str) -> None:
    """Run a program as root, and wait until it is at work."""
    sandbox.request("POST", "/v1/file/write", json={"file": f"/tmp/{name}.py", "content": program}).raise_for_status()
    bash(sandbox, f"sudo python3 /tmp/{name}.py", async_mode=True)
    until(lambda: bash(sandbox, f"test -d /srv/{name}")["exit_code"] == 0)


def is_whole(sandbox: Sandbox) -> None:
    """What must not be lost is there."""
    assert bash(sandbox, "cat ~/precious ~/tree/hard; readlink ~/tree/link")["stdout"].split() == ["precious", "precious", "/etc/shadow"]


def comes_back(sandbox: Sandbox, answer: httpx.Response) -> None:
    post(sandbox, f"/v1/checkpoints/{answer.json()['data']['checkpoint']['id']}/restore", keep=False)
    is_whole(sandbox)


def drafts(sandbox: Sandbox) -> list[str]:
    return [name for name in sandbox.exec("ls", "/sandbox").stdout.split() if name.startswith(("draft-", "gone-"))]


def test_what_forks_without_end_is_in_a_checkpoint_that_takes_seconds_and_goes_on(attacked: Sandbox) -> None:
    attacked.request("POST", "/v1/bash/exec", json={"command": BOMB, "async_mode": True}).raise_for_status()
    until(lambda: attacked.request("GET", "/v1/box").json()["data"]["processes"] > 300)
    made = keep(attacked, mode="live")
    until(lambda: attacked.request("GET", "/v1/box").json()["data"]["processes"] > 300)  # those that end make room for others
    assert made.status_code == 200, made.text
    comes_back(attacked, made)


def test_files_that_grow_and_directories_that_come_meanwhile_end_in_a_checkpoint_or_a_refusal(attacked: Sandbox) -> None:
    starts(attacked, "grow", GROW)
    answers = [keep(attacked, mode="live") for _ in range(3)]
    until(lambda: not drafts(attacked))
    for answer in answers:
        if answer.status_code != 200:
            assert answer.json()["message"], answer.text
    is_whole(attacked)
    listed = attacked.request("GET", "/v1/checkpoints").json()["data"]["checkpoints"]
    assert {one["id"] for one in listed} >= {one.json()["data"]["checkpoint"]["id"] for one in answers if one.status_code == 200}


def test_no_link_pipe_or_socket_that_takes_a_file_s_place_leads_anywhere_or_is_waited_for(attacked: Sandbox) -> None:
    starts(attacked, "swap", SWAP)
    made = [keep(attacked, mode="live") for _ in range(5)]
    for answer in made:
        layer = answer.json()["data"]["checkpoint"]["id"]
        found = set(attacked.exec("find", f"/sandbox/l/{layer}/srv/swap", "-mindepth", "1", "-printf", "%P\\n").stdout.split())
        assert found <= {"real", "real/own", "aside", "aside/own", "thing"}
    comes_back(attacked, made[-1])


def test_sparse_files_of_terabytes_and_a_million_holes_take_no_room(attacked: Sandbox) -> None:
    holes = "import os; f=open('/srv/holes','wb'); [(f.seek(n<<16), f.write(b'x')) for n in range(2000)]; f.truncate(1<<40)"
    bash(attacked, f'sudo python3 -c "{holes}"; sudo truncate -s 4T /srv/sparse')
    bash(attacked, "sleep 600", async_mode=True)
    made = keep(attacked, mode="live")
    assert made.status_code == 200, made.text
    assert made.json()["data"]["copied_bytes"] < 50 << 20
    comes_back(attacked, made)
    assert bash(attacked, "stat -c %s /srv/sparse /srv/holes")["stdout"].split() == [str(4 << 40), str(1 << 40)]


def test_devices_cannot_be_made_and_so_are_in_none(attacked: Sandbox) -> None:
    made = "sudo mknod /srv/disk b 8 0; sudo mknod /srv/memory c 1 1; sudo mknod /srv/white c 0 0; sudo mkfifo /srv/pipe; ls /srv"
    assert bash(attacked, made)["stdout"].split() == ["pipe"]
    bash(attacked, "sleep 600", async_mode=True)
    comes_back(attacked, keep(attacked, mode="live"))
    assert bash(attacked, "stat -c %F /srv/pipe")["stdout"] == "fifo\n"


@pytest.mark.parametrize(
    "fill",
    ["cat /dev/zero > /srv/fill; head -c 100000 /dev/zero > /srv/rest", "mkdir /srv/many && cd /srv/many && seq 40000 | xargs touch; true"],
    ids=["bytes", "inodes"],
)
def test_a_disk_that_is_full_loses_nothing_and_the_other_mode_works(attacked: Sandbox, fill: str) -> None:
    bash(attacked, "sleep 600", async_mode=True)
    bash(attacked, f"sudo sh -c '{fill}'", timeout=120, hard_timeout=120)
    before = attacked.request("GET", "/v1/checkpoints").json()["data"]
    refused = keep(attacked, mode="live")
    assert refused.status_code == 429, refused.text
    assert "stop" in refused.json()["message"]
    until(lambda: not drafts(attacked))
    assert attacked.request("GET", "/v1/checkpoints").json()["data"] == before
    is_whole(attacked)
    assert keep(attacked, mode="stop").status_code == 200
    is_whole(attacked)
    post(attacked, "/v1/checkpoints/image/restore", keep=False)
    for one in reversed(attacked.request("GET", "/v1/checkpoints").json()["data"]["checkpoints"]):
        attacked.request("DELETE", f"/v1/checkpoints/{one['id']}").raise_for_status()
    bash(attacked, "echo precious > ~/precious; mkdir -p ~/tree/a; ln ~/precious ~/tree/hard; ln -s /etc/shadow ~/tree/link")
