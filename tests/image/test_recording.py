"""Recordings of the desktop and its sound, by the published SDK."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from agent_sandbox import Sandbox as Client
from agent_sandbox.browser import Action_MoveTo

from tests.drivers.video.mp4 import loudness, shown, size
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

SERVER = "unix:/run/sandbox-desktop/pulse/native"
LISTENED = "unix:/run/sandbox-desktop/sound.sock"
PLAY = "pacat --raw --rate=48000 --channels=2 --format=u8 </dev/urandom"


@pytest.fixture
def client(sandbox: "Sandbox") -> Client:
    return Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)


def download_recording(sandbox: "Sandbox", path: str, folder: Path) -> Path:
    """Download a recording."""
    made = folder / "recording.mp4"
    made.write_bytes(sandbox.request("GET", "/v1/file/download", params={"path": path}).content)
    return made


def test_the_desktop_is_recorded_into_the_agents_files(client: Client, sandbox: "Sandbox", tmp_path: Path) -> None:
    started = client.display.record(action="start", save_path="/home/gem/desktop.mp4", fps=10).data
    assert started
    assert started.status == "recording"
    client.browser.execute_action(request=Action_MoveTo(x=300, y=300))
    stopped = client.display.record(action="stop").data
    assert stopped
    assert (stopped.status, stopped.save_path) == ("stopped", "/home/gem/desktop.mp4")
    video = download_recording(sandbox, "/home/gem/desktop.mp4", tmp_path)
    assert video.stat().st_size == stopped.file_size_bytes
    assert (size(video), len(shown(video)) > 0) == ((1280, 1024), True)


def test_a_film_plays_although_the_server_was_killed(start_sandbox: Callable[..., "Sandbox"], tmp_path: Path) -> None:
    sandbox = start_sandbox()
    sandbox.request("POST", "/v1/display/record", json={"action": "start", "save_path": "/home/gem/recording.mp4"})
    until(lambda: duration(sandbox) > 3)
    sandbox.exec("sh", "-c", "kill -9 $(pgrep -f 'sandbox_server serve')")
    sandbox.wait_ready()
    assert shown(download_recording(sandbox, "/home/gem/recording.mp4", tmp_path))[-1].at >= 1


def duration(sandbox: "Sandbox") -> float:
    return float(sandbox.request("POST", "/v1/display/record", json={"action": "status"}).json()["data"]["duration"])


def test_what_the_desktop_plays_is_in_the_film(start_sandbox: Callable[..., "Sandbox"], tmp_path: Path) -> None:
    sandbox = start_sandbox()
    until(lambda: sandbox.exec("test", "-S", "/run/sandbox-desktop/pulse/native").code == 0)
    sandbox.request("POST", "/v1/display/record", json={"action": "start", "save_path": "/home/gem/recording.mp4"})
    player_of = ["docker", "exec", "--user", "desktop", "--env", f"PULSE_SERVER={SERVER}", sandbox.name, "sh", "-c", PLAY]
    with subprocess.Popen(player_of) as player:
        until(lambda: max(loudness(download_recording(sandbox, "/home/gem/recording.mp4", tmp_path)), default=0) > 10000, told=sandbox.logs)
        player.kill()
    sandbox.request("POST", "/v1/display/record", json={"action": "stop"})


def test_the_agent_has_no_way_to_the_sound(sandbox: "Sandbox") -> None:
    for server in (SERVER, LISTENED):
        assert sandbox.exec("env", f"PULSE_SERVER={server}", "pactl", "info", user="gem").code != 0


def test_the_sound_is_back_after_its_server_was_killed(mended: "Sandbox") -> None:
    ask = ("env", f"PULSE_SERVER={SERVER}", "pactl", "get-default-sink")
    until(lambda: mended.exec(*ask, user="control").stdout == "desktop\n")
    mended.exec("pkill", "-9", "pulseaudio")
    until(lambda: mended.exec(*ask, user="control").stdout == "desktop\n")


def test_sound_that_is_left_out_leaves_the_pictures(start_sandbox: Callable[..., "Sandbox"], tmp_path: Path) -> None:
    sandbox = start_sandbox(env={"DISABLE_SOUND": "true"})
    asked = {"action": "start", "save_path": "/home/gem/recording.mp4"}
    until(lambda: sandbox.request("POST", "/v1/display/record", json=asked).status_code in (200, 409))
    sandbox.request("POST", "/v1/display/record", json={"action": "stop"})
    video = download_recording(sandbox, "/home/gem/recording.mp4", tmp_path)
    assert (len(shown(video)) > 0, loudness(video)) == (True, [])
    assert "pulseaudio" not in sandbox.exec("ps", "-e").stdout
