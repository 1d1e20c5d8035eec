"""The desktop's microphone: programs there hear who drives and switches theirs on, and nobody else."""

import array
import base64
import itertools
import math
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.image.chromium import chromium
from tests.image.container import Sandbox
from tests.image.test_view import give_back, opened, titles
from tests.patience import PATIENCE_MS, until

"""For a browser to start, on a machine that does other things."""
HERTZ = 440
RATE = 48000
SECOND = 2 * RATE
RECORD = f"timeout 60 parec --raw --rate={RATE} --channels=1 --format=s16le --latency-msec=20 | head -c {SECOND} | base64 -w0"

SECURE = "http://localhost:8080"
"""Where a page in the sandbox may ask for the microphone: the gateway, seen from inside."""
LISTEN = """async () => {
  const context = new AudioContext(), ear = new AnalyserNode(context, { fftSize: 8192, smoothingTimeConstant: 0 });
  context.createMediaStreamSource(await navigator.mediaDevices.getUserMedia({ audio: true })).connect(ear);
  const loud = new Float32Array(ear.frequencyBinCount);
  setInterval(() => {
    ear.getFloatFrequencyData(loud);
    const most = loud.indexOf(Math.max(...loud));
    if (loud[most] > -40) document.title = `heard ${Math.round((most * context.sampleRate) / ear.fftSize)} hertz`;
  }, 100);
}"""


@pytest.fixture(scope="module")
def sandbox(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    return sandbox_with(env={"STREAM_MICROPHONE": "true"})


@pytest.fixture(scope="module")
def browser(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A person's browser, into whose microphone somebody whistles."""
    tone = tmp_path_factory.mktemp("tone") / "tone.wav"
    whistle(tone)
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", f"--use-file-for-fake-audio-capture={tone}"]
    with chromium(f"--unsafely-treat-insecure-origin-as-secure={sandbox.base_url}", *fake) as launched:
        yield launched


def whistle(file: Path) -> None:
    """Write a tone that comes and goes, as speech does: one that stays is a noise, which browsers take out."""
    samples = (round(15000 * math.sin(2 * math.pi * HERTZ * n / RATE)) if n // 14400 % 2 == 0 else 0 for n in range(3 * RATE))
    with wave.open(str(file), "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(RATE)
        made.writeframes(array.array("h", samples).tobytes())


def recorded(sandbox: Sandbox) -> "array.array[int]":
    """A second of what a program on the desktop hears as its microphone."""
    environment = "PULSE_SERVER=unix:/run/sandbox-desktop/pulse/native"
    done = sandbox.exec("env", environment, "sh", "-c", RECORD, user="desktop")
    return array.array("h", base64.b64decode(done.stdout))


def is_silence(samples: "array.array[int]") -> bool:
    return len(samples) == RATE and not any(samples)


def pitch(samples: "array.array[int]") -> float:
    """Hertz of what is loud, by how often it crosses zero; 0 where nothing is."""
    tenths = [samples[at : at + RATE // 10] for at in range(0, len(samples) - RATE // 10, RATE // 10)]
    loud = [tenth for tenth in tenths if min(max(tenth[at : at + 480]) for at in range(0, RATE // 10, 480)) > 1000]
    crossed = [sum(one < 0 <= other for one, other in itertools.pairwise(tenth)) * 10 for tenth in loud]
    return sum(crossed) / len(crossed) if crossed else 0.0


def spoken(page: Page) -> int:
    count: int = page.locator("tandem-view").evaluate("view => view.spoken")
    return count


@pytest.mark.slow
def test_programs_hear_who_drives_once_they_switch_it_on_and_nobody_after_that(browser: Browser, sandbox: Sandbox) -> None:
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    with opened(browser, sandbox) as page:
        page.locator("tandem-view canvas").click()
        page.locator("#driver", has_text="You drive").wait_for()
        assert spoken(page) == 0
        page.get_by_role("button", name="Microphone").click()
        until(lambda: abs(pitch(recorded(sandbox)) - HERTZ) < 25)
    with opened(browser, sandbox) as page:
        page.get_by_role("button", name="Microphone").click()
        until(lambda: is_silence(recorded(sandbox)))
        assert spoken(page) == 0


def of_the_person(page: Page, sandbox: Sandbox) -> dict[str, str]:
    """What makes a client of DevTools that of the person at a page."""
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
    return {"Cookie": cookies, "Origin": sandbox.base_url}


@pytest.mark.slow
def test_a_page_in_the_desktops_browser_hears_who_drives(browser: Browser, sandbox: Sandbox) -> None:
    with opened(browser, sandbox) as page:
        page.locator("tandem-view canvas").click()
        page.locator("#driver", has_text="You drive").wait_for()
        desktops = browser.browser_type.connect_over_cdp(sandbox.base_url, headers=of_the_person(page, sandbox), timeout=PATIENCE_MS)
        context = desktops.contexts[0]
        context.set_default_timeout(PATIENCE_MS)
        with context.new_page() as listening:
            listening.goto(f"{SECURE}/healthz")
            context.grant_permissions(["microphone"], origin=SECURE)  # that person's own: what a program grants does not count meanwhile
            listening.evaluate(LISTEN)
            page.get_by_role("button", name="Microphone").click()
            until(lambda: any(title.startswith("heard") and abs(int(title.split()[1]) - HERTZ) < 25 for title in titles(sandbox)))
        desktops.close()
        give_back(page)
