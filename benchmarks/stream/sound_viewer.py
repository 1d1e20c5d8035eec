"""Listens to a page of the stream as a person does, in the viewer's container: `sound_viewer.py URL ORIGIN BEGUN SECONDS`.

What the page plays is taken where it leaves for the sound card; the card's own delay comes on top of that. The pitch of the sweep
(`sound_source.py`) tells when it was played on the desktop, at the time BEGUN plus whole periods of it.
"""

import base64
import json
import sys
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright
from sound_source import LOUD, LOWEST, PERIOD, RATE, RISE

BLOCK, PIECE = RATE // 100, 128
"""Samples: what is judged at once, and what a page plays at once."""
NEAR = RATE // PIECE // 2
"""Pieces on each side: half a second."""
SILENT = 0.1
"""Of its loudness: what is softer is silence."""
AROUND = 15
"""Blocks before and after one that tell how late sound is there."""
MADE_UP = 0.006
"""Seconds: what is so much later than sound before it, and sound after it, goes on with what was before, for something was missing."""
TURN = 0.04
"""Seconds around the sweep's turn, where two pitches are heard at once."""
WARM_SECONDS = 3
TAP = """registerProcessor("tap", class extends AudioWorkletProcessor {
  process([input]) {
    if (input.length) this.port.postMessage({ at: currentTime, samples: input[0].slice() });
    return true;
  }
});"""
LISTEN = """(() => {
  const heard = (window.heard = []), { connect } = AudioNode.prototype;
  AudioNode.prototype.connect = function (to, ...more) {
    if (to === this.context.destination && this.context.audioWorklet) this.context.audioWorklet
      .addModule(URL.createObjectURL(new Blob([__TAP__], { type: "text/javascript" }))).then(() => {
        const tap = new AudioWorkletNode(this.context, "tap", { numberOfOutputs: 0 });
        tap.port.onmessage = ({ data }) => heard.push({ ...data, now: performance.timeOrigin + performance.now() });
        connect.call(this, tap);
      });
    return connect.call(this, to, ...more);
  };
})()"""
TAKEN = """async () => {
  const all = window.heard.splice(0), whole = new Float32Array(all.length * 128);
  all.forEach(({ samples }, number) => whole.set(samples, number * 128));
  const url = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob([whole]));
  });
  return { clock: all.map(({ at, now }) => [at, now / 1000 - at]), samples: url.split(",")[1] };
}"""


def listen(url: str, origin: str, seconds: float) -> dict[str, Any]:
    """What a page plays, by which clock; and whether it comes by datagrams."""
    switches = ["--no-sandbox", f"--unsafely-treat-insecure-origin-as-secure={origin}", "--autoplay-policy=no-user-gesture-required"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=switches)
        page = browser.new_context(bypass_csp=True).new_page()
        page.add_init_script(LISTEN.replace("__TAP__", json.dumps(TAP)))
        page.goto(url)
        page.wait_for_selector("body[data-state=connected]")
        page.locator("tandem-view").evaluate("view => view.addEventListener('statistics', ({ detail }) => { window.counted = detail })")
        page.get_by_role("button", name="Sound").click()
        page.wait_for_function("document.querySelector('tandem-view').heard > 0")
        page.wait_for_timeout(WARM_SECONDS * 1000)
        page.evaluate("window.heard.length = 0")
        page.wait_for_timeout(seconds * 1000)
        found: dict[str, Any] = page.evaluate(TAKEN)
        counted = page.evaluate("window.counted")
        browser.close()
    return found | {"datagrams": counted["datagrams"]}


def pitches(blocks: Any) -> Any:
    """Hertz of each block: the peak of its spectrum, between two lines of it."""
    lines = 8192
    power = np.log(np.abs(np.fft.rfft(blocks * np.hanning(BLOCK), lines)) + 1e-9)
    peak = power[:, 1:-1].argmax(axis=1) + 1
    before, at, after = (power[np.arange(len(peak)), peak + step] for step in (-1, 0, 1))
    return (peak + (before - after) / 2 / (before - 2 * at + after)) * RATE / lines


def times(clock: Any, blocks: int) -> Any:
    """When each block was played. The page's clock stands while its machine is busy, so by what it was told soonest around then."""
    at, ahead = clock[:, 0], clock[:, 1]
    soonest = np.lib.stride_tricks.sliding_window_view(np.pad(ahead, NEAR, mode="edge"), 2 * NEAR + 1).min(axis=1)
    middle = (np.arange(blocks) + 0.5) * BLOCK
    piece = (middle / PIECE).astype(int)
    return at[piece] + soonest[piece] + (middle - piece * PIECE) / RATE


def judge(samples: Any, clock: Any, played: float) -> dict[str, float]:
    """How late it is in milliseconds, and which percentages are silence, and made up."""
    blocks = samples[: len(samples) // BLOCK * BLOCK].reshape(-1, BLOCK)
    silent = np.sqrt((blocks**2).mean(axis=1)) < SILENT * LOUD / 32768 / np.sqrt(2)
    place = (pitches(blocks) - LOWEST) / RISE
    late = (times(clock, len(blocks)) - played - place) % PERIOD
    known = ~silent & (place > TURN) & (place < PERIOD - TURN)
    level = np.where(known, late, np.inf)
    before, after = (min_of_near(level, side) for side in (-1, 1))
    made_up = known & (late - np.maximum(before, after) > MADE_UP)
    true = np.sort(late[known & ~made_up] * 1000)
    clock_stood = (clock[-1] - clock[0])[1]
    return {
        "delay ms": round(float(np.median(true)), 1),
        "delay p95 ms": round(float(true[int(len(true) * 0.95)]), 1),
        "made up %": round(100 * float(made_up.sum() / known.sum()), 2),
        "silent %": round(100 * float(silent.mean()), 2),
        "longest silence ms": longest(silent) * 10,
        "longest made up ms": longest(made_up) * 10,
        "page's clock stood %": round(100 * float(clock_stood) / len(blocks) * RATE / BLOCK, 2),
    }


def min_of_near(values: Any, side: int) -> Any:
    """The least of each value and the AROUND before it, or after it."""
    padded = np.pad(values, (AROUND, 0) if side < 0 else (0, AROUND), constant_values=np.inf)
    return np.lib.stride_tricks.sliding_window_view(padded, AROUND + 1).min(axis=1)


def longest(flags: Any) -> int:
    """The longest row of what is true."""
    most = row = 0
    for flag in flags:
        row = row + 1 if flag else 0
        most = max(most, row)
    return most


def main() -> None:
    """Listen, and say what was heard."""
    url, origin, played, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    found = listen(url, origin, seconds)
    samples = np.frombuffer(base64.b64decode(found["samples"]), np.float32)
    judged = judge(samples, np.array(found["clock"]), played)
    sys.stdout.write(json.dumps(judged | {"datagrams": found["datagrams"]}) + "\n")


if __name__ == "__main__":
    main()
