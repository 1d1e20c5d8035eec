"""What programs play on the desktop is heard, in a real sound server."""

import array
import asyncio
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import sandbox_server
from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.sound.pulseaudio import CHUNK_SECONDS, RATE, PulseAudio, Say
from tests.patience import PATIENCE_SECONDS, until

pytestmark = pytest.mark.anyio

CONFIGURATION = Path(sandbox_server.__file__).with_name("drivers") / "sound" / "sound.pa"
SOCKET = "/run/sandbox-desktop/pulse/native"
LISTENED = "/run/sandbox-desktop/sound.sock"
MICROPHONE = "/run/sandbox-desktop/microphone"


class Server:
    """PulseAudio with the configuration of the image, on a socket of the test."""

    def __init__(self, folder: Path, *, microphone: bool) -> None:
        self.socket = str(folder / "sound.sock")
        self._environment = os.environ | {"HOME": str(folder), "PULSE_RUNTIME_PATH": str(folder / "run")}
        configuration = folder / "sound.pa"
        places = {SOCKET: f"{folder}/pulse/native", LISTENED: self.socket, MICROPHONE: f"{folder}/microphone"}
        text = CONFIGURATION.read_text()
        for place, here in places.items():
            text = text.replace(place, here)
        configuration.write_text(text)
        if microphone:
            (folder / "microphone").touch()
        os.mkdir(folder / "pulse")
        argv = ["pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--disable-shm=yes"]
        self.process = subprocess.Popen(
            [*argv, "--realtime=no", "--log-target=stderr", "-F", str(configuration)], env=self._environment, stderr=subprocess.DEVNULL
        )

    async def record(self) -> asyncio.subprocess.Process:
        """Record what programs find as their microphone: 16 bits, one channel."""
        argv = ["parec", "--raw", f"--rate={RATE}", "--channels=1", "--format=s16le", "--latency-msec=20"]
        environment = self._environment | {"PULSE_SERVER": f"unix:{self.socket}"}
        return await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE, env=environment)

    def play(self, samples: bytes) -> "subprocess.Popen[bytes]":
        """Play sound on the sink that programs find by themselves."""
        argv = ["pacat", "--playback", "--raw", f"--rate={RATE}", "--channels=2", "--format=s16le"]
        player = subprocess.Popen(argv, stdin=subprocess.PIPE, env=self._environment | {"PULSE_SERVER": f"unix:{self.socket}"})
        assert player.stdin
        player.stdin.write(samples)
        player.stdin.close()
        return player


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A running sound server; parametrized with whether it has a microphone."""
    if shutil.which("pulseaudio") is None:
        pytest.skip("PulseAudio is not installed here")
    with tempfile.TemporaryDirectory() as folder:
        started = Server(Path(folder), microphone=getattr(request, "param", False))
        until(lambda: os.path.exists(started.socket))
        yield started
        started.process.kill()
        started.process.wait(PATIENCE_SECONDS)


def loudest(piece: bytes) -> int:
    return max(abs(sample) for sample in array.array("h", piece))


async def test_what_a_program_plays_is_heard_and_then_silence_again(server: Server) -> None:
    wave = array.array("h", (round(20000 * math.sin(n / 10)) for n in range(RATE) for _ in range(2)))
    async with asyncio.timeout(30), PulseAudio(server.socket).listen() as heard:
        assert loudest(await anext(heard)) == 0
        player = server.play(wave.tobytes())
        pieces = [piece async for piece in _until_loud(heard)]
        assert len(pieces[-1]) == round(RATE * CHUNK_SECONDS) * 4
        player.wait(PATIENCE_SECONDS)
        while loudest(await anext(heard)):
            pass


async def _until_loud(heard: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in heard:
        yield piece
        if loudest(piece) > 15000:
            return


@pytest.mark.parametrize("server", [True], indirect=True)
async def test_what_is_said_is_what_programs_hear_as_their_microphone(server: Server) -> None:
    wave = array.array("h", (round(20000 * math.sin(n / 10)) for n in range(RATE))).tobytes()
    recorder = await server.record()
    assert recorder.stdout
    try:
        async with asyncio.timeout(30), PulseAudio(server.socket).listen() as heard, PulseAudio(server.socket).speak() as say:
            saying = asyncio.create_task(_say(say, wave))
            while loudest(await recorder.stdout.readexactly(960)) < 15000:
                pass
            saying.cancel()
            await asyncio.wait([saying])
            assert loudest(await anext(heard)) == 0
    finally:
        recorder.kill()
        await recorder.communicate()


async def _say(say: Say, samples: bytes) -> None:
    for at in range(0, len(samples), 1920):
        await say(samples[at : at + 1920])


async def test_where_there_is_no_microphone_nobody_can_speak(server: Server) -> None:
    with pytest.raises(Unavailable, match="cannot be"):
        async with asyncio.timeout(30), PulseAudio(server.socket).speak():
            pass


async def test_two_may_listen_at_once(server: Server) -> None:
    sound = PulseAudio(server.socket)
    async with asyncio.timeout(30), sound.listen() as first, sound.listen() as second:
        assert (loudest(await anext(first)), loudest(await anext(second))) == (0, 0)


async def test_without_a_server_there_is_nothing_to_hear(tmp_path: Path) -> None:
    sound = PulseAudio(str(tmp_path / "none"))
    assert not sound.available
    with pytest.raises(Unavailable, match="cannot be heard"):
        async with sound.listen():
            pass


async def test_listening_ends_with_the_server(server: Server) -> None:
    async with asyncio.timeout(30), PulseAudio(server.socket).listen() as heard:
        server.process.kill()
        with pytest.raises(Unavailable):
            [piece async for piece in heard]
