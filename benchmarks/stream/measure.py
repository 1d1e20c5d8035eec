"""What is measured of one way of showing over one link."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.stream.desktop import Desktop
from benchmarks.stream.figures import Figures
from benchmarks.stream.link import Link
from benchmarks.stream.stage import SETTLE_SECONDS
from benchmarks.stream.viewer import Viewer
from benchmarks.stream.ways import GATEWAY, OURS, POOR, WAYS, Way

RATES = {"video": 30.0, "scroll": 20.0}
TYPE_RATE = 8
TAKE_SECONDS = 30.0
STILL_SECONDS = 1.0
"""After what moved has stopped, the picture is looked at again."""


@dataclass(frozen=True)
class Lengths:
    """How long is looked, in seconds, at what moves, at work such as typing, at what is still, and at the server alone; how many clicks."""

    moving: float
    working: float
    still: float
    alone: float
    clicks: int
    beside_tcp: bool
    """Whether a video beside a TCP flow is looked at."""


QUICK_LENGTHS = Lengths(6.0, 4.0, 3.0, 5.0, 20, beside_tcp=False)
FULL_LENGTHS = Lengths(20.0, 8.0, 6.0, 10.0, 40, beside_tcp=True)


@dataclass
class Measure:
    """One way, for the time that it is served."""

    name: str
    desktop: Desktop
    link: Link
    viewer: Viewer
    figures: Figures
    lengths: Lengths

    @property
    def way(self) -> Way:
        """What it is."""
        return WAYS[self.name]

    def add(self, metric: str, value: float) -> None:
        """Note a figure."""
        self.figures.add(metric, self.name, value)

    def alone(self) -> None:
        """What it costs to be ready while nobody watches: a video plays meanwhile."""
        with self.desktop.scene("video"):
            time.sleep(SETTLE_SECONDS)
            used, begun = self.desktop.seconds(self.way), time.monotonic()
            time.sleep(self.lengths.alone)
            self.add("cores, nobody watching", (self.desktop.seconds(self.way) - used) / (time.monotonic() - begun))

    def over(self, link: str) -> None:
        """Everything over a link."""
        if not self.opened(link):
            return
        if link == POOR:
            self.beside_video(link)
            return
        for kind, rate in RATES.items():
            self.moving(kind, rate, link)
        if link == "normal":
            self.at_work()
        if link == "5 Mbit/s" and self.lengths.beside_tcp and self.name in (*OURS, "tigervnc"):
            self.beside_tcp(link)
        if link != "5 Mbit/s":
            self.click(link)

    def opened(self, link: str) -> bool:
        """Open the viewer's page and have it drive; whether that was seen."""
        with self.desktop.scene("still"):
            opened = self.viewer.do("open", **self._page())
            if "error" in opened:
                self.add(f"not seen, {link}", 1)
                return False
            self.add(f"opened s, {link}", opened["seconds"])
            if self.way.page:
                self._take()
            self.viewer.do("leave")
        return True

    def _page(self) -> dict[str, Any]:
        if self.way.viewer:
            return {"tight": True}
        if self.way.address:
            return {"url": self.way.address, "origin": self.way.address.rstrip("/"), "tight": True}
        sign = "&" if "?" in self.way.page else "?"
        return {"url": f"{GATEWAY}{self.way.page}{sign}ticket={self.desktop.ticket()}", "origin": GATEWAY}

    def _take(self) -> None:
        """Have the viewer drive: who only watches is shown fewer pictures. Who drove before may have to be seen to have left, first."""
        deadline = time.monotonic() + TAKE_SECONDS
        while not self.desktop.drives():
            if time.monotonic() > deadline:
                raise RuntimeError("the viewer's clicks do not take control")
            self.viewer.do("take")
            time.sleep(0.5)

    def moving(self, kind: str, rate: float, link: str) -> None:
        """A video or a page that scrolls: how it is seen, what it takes, and how it looks once it stands."""
        with self.desktop.scene(kind):
            time.sleep(SETTLE_SECONDS)
            sent, used, begun = self.link.bytes(), self.desktop.seconds(self.way), time.monotonic()
            seen = self.viewer.do("follow", seconds=self.lengths.moving, rate=rate, pictures=kind)
            took = time.monotonic() - begun
            sent, used = self.link.bytes() - sent, self.desktop.seconds(self.way) - used
            drawn = self.desktop.stop()
            self._still(kind, link)
        likeness = "ssim" if kind == "video" else "rgb ssim"
        self.add(f"{kind} late, {link}", seen["late"])
        self.add(f"{kind} fps, {link}", seen["fps"])
        self.add(f"{kind} kbit/s, {link}", sent * 8 / took / 1000)
        self.add(f"{kind} kB a picture, {link}", sent / took / max(seen["fps"], 1 / self.lengths.moving) / 1000)
        self.add(f"{kind} cores, {link}", used / took)
        if "ssim" in seen:
            self.add(f"{kind} {likeness}, {link}", seen["ssim"])
        if kind == "scroll" and link == "normal":
            self.add("scroll step bytes", sent / took / rate)
        self.add(f"{kind} late at the source, {link}", drawn["late"])

    def _still(self, kind: str, link: str) -> None:
        """How what was shown looks a second after it has stopped."""
        time.sleep(STILL_SECONDS)
        self.viewer.do("keep")
        self.viewer.truth(self.desktop.grab())
        found = self.viewer.do("compare", kind=kind)
        self.add(f"{kind} {'ssim' if kind == 'video' else 'rgb ssim'} 1 s after, {link}", found["ssim"])
        self.add(f"{kind} equal pixels 1 s after, {link}", found["equal"])

    def at_work(self) -> None:
        """Typing, slides, and a still screen: what they take, and how they look then."""
        for kind in ("type", "slides", "still"):
            with self.desktop.scene(kind):
                time.sleep(SETTLE_SECONDS)
                sent, begun = self.link.bytes(), time.monotonic()
                time.sleep(self.lengths.still if kind == "still" else self.lengths.working)
                rate = (self.link.bytes() - sent) / (time.monotonic() - begun)
                if kind != "still":
                    self.desktop.stop()
                    self._still(kind, "normal")
            self.add(f"{kind} kbit/s", rate * 8 / 1000)
            if kind == "type":
                self.add("typed character bytes", rate / TYPE_RATE)

    def click(self, link: str) -> None:
        """From a click until what it changes is seen."""
        with self.desktop.scene("click"):
            clicked = self.viewer.do("click", times=self.lengths.clicks)
        if clicked["ms"]:
            self.add(f"click ms, {link}", statistics.median(clicked["ms"]))
            self.add(f"click p95 ms, {link}", sorted(clicked["ms"])[int(len(clicked["ms"]) * 0.95)])
        self.add(f"click missed, {link}", clicked["missed"])

    def beside_tcp(self, link: str) -> None:
        """A video beside a TCP flow that wants all there is: how late it is then, and what each of them gets."""
        seconds = self.lengths.moving + SETTLE_SECONDS
        with self.desktop.scene("video"):
            time.sleep(SETTLE_SECONDS)
            with self.link.flow(seconds) as flow:
                time.sleep(SETTLE_SECONDS)
                sent, begun = self.link.bytes(), time.monotonic()
                seen = self.viewer.do("follow", seconds=self.lengths.moving, rate=RATES["video"])
                both = (self.link.bytes() - sent) * 8 / (time.monotonic() - begun) / 1000
                assert flow.stdout
                taken = int(flow.stdout.readline()) * 8 / seconds / 1000
        self.add(f"video late beside TCP, {link}", seen["late"])
        self.add(f"video fps beside TCP, {link}", seen["fps"])
        self.add(f"TCP kbit/s beside video, {link}", taken)
        self.add(f"kbit/s of both, {link}", both)

    def beside_video(self, link: str) -> None:
        """A page that scrolls beside a video: how many pictures of it are seen, and how sharp the page's text is in them."""
        with self.desktop.scene("beside"):
            time.sleep(3 * SETTLE_SECONDS)
            seen = self.viewer.do("follow", seconds=self.lengths.moving, rate=RATES["video"], pictures="beside")
        self.add(f"page beside video fps, {link}", seen["fps"])
        if "ssim" in seen:
            self.add(f"page beside video rgb ssim, {link}", seen["ssim"])

    def pictures(self, times: int) -> None:
        """A page that scrolls beside a video, as it is seen at so many moments."""
        if not self.opened("pictures"):
            return
        with self.desktop.scene("beside"):
            time.sleep(3 * SETTLE_SECONDS)
            seen = self.viewer.do("follow", seconds=self.lengths.moving, rate=RATES["video"])
            for _ in range(times):
                self.viewer.do("picture", name=f"{self.name}: {seen['fps']:.1f} of 30 pictures a second are seen")
                time.sleep(STILL_SECONDS)


def floor(viewer: Viewer, figures: Figures, seconds: float) -> None:
    """What is late in the viewer's browser although nothing is streamed: no way of showing can be better on this machine."""
    for kind, rate in RATES.items():
        opened = viewer.do("open", url=f"file:///bench/floor.html?rate={rate}", origin=GATEWAY)
        if "error" not in opened:
            time.sleep(SETTLE_SECONDS)
            figures.add(f"{kind} late, no stream", "floor", viewer.do("follow", seconds=seconds, rate=rate)["late"])
        viewer.do("close")
