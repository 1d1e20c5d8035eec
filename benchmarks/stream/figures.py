"""What was measured, and what it is held against."""

import os
import statistics
import sys
import time
from collections import defaultdict
from typing import Any

from benchmarks.stream.ways import OURS

BARS = {
    "click p95 ms, normal": 50.0,
    "click ms, 10 % loss": 120.0,
    "video late, normal": 0.01,
    "video late, 5 Mbit/s": 0.025,
    "video late, 10 % loss": 0.056,
    "scroll late, normal": 0.01,
    "scroll late, 5 Mbit/s": 0.013,
    "scroll late, 10 % loss": 0.10,
    "typed character bytes": 280.0,
    "scroll step bytes": 25000.0,
    "still kbit/s": 2.0,
    "video ssim 1 s after, normal": 1.0,
    "scroll rgb ssim 1 s after, normal": 1.0,
    "slides rgb ssim 1 s after, normal": 1.0,
    "type rgb ssim 1 s after, normal": 1.0,
    "cores, nobody watching": 0.01,
    "take ms": 150.0,
}
"""Fixed bars; what is late is to be no more than the best peer's, either. A still screen costs pings alone."""
AS_NOVNC = {"click ms, normal": 35.0}
"""Figures whose bar is what noVNC has over TigerVNC: without it, this."""
LEAST = {
    "type kbit/s": "type rgb ssim 1 s after, normal",
    "slides kbit/s": "slides rgb ssim 1 s after, normal",
    "scroll kB a picture, normal": "scroll rgb ssim 1 s after, normal",
    "video kB a picture, normal": "video ssim, normal",
}
"""Figures whose bar is the least of any peer whose picture is as good: which figure says that."""
MOST = ("video ssim, normal", "scroll rgb ssim, normal")
"""Figures whose bar is the best peer's."""
AS_SELKIES = ("video cores, normal",)
"""Figures whose bar is what Selkies needs: who shows fewer pictures needs less for them."""
AS_GOOD = 0.005
"""So much less like may a picture be that is as good."""


class Figures:
    """By metric and by way of showing, one figure a round."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._since: list[tuple[str, str, float]] = []
        self._begun = time.monotonic()
        self._loads: list[float] = []

    def add(self, metric: str, way: str, value: float) -> None:
        """Note a figure, and say it."""
        self._since.append((metric, way, value))
        self.say(f"{way:14} {metric:40} {value:12.3f}")

    def say(self, text: str) -> None:
        """Say how far the run is, with the seconds that it has taken and the machine's load."""
        sys.stderr.write(f"{time.monotonic() - self._begun:7.1f} s  {text}   load {os.getloadavg()[0]:.1f}\n")

    def taken(self) -> dict[str, Any]:
        """What was noted since this was asked before."""
        since, self._since = self._since, []
        return {"figures": since, "load": os.getloadavg()[0]}

    def put(self, taken: dict[str, Any]) -> None:
        """Count what was noted, in this run or one before."""
        for metric, way, value in taken["figures"]:
            self._found[metric][way].append(value)
        self._loads.append(taken["load"])

    def result(self) -> dict[str, Any]:
        """Medians of all rounds, and the least and most load. `beside` is neither ours nor a peer: our WebSocket, and no stream."""
        found = {metric: {way: statistics.median(values) for way, values in ways.items()} for metric, ways in sorted(self._found.items())}
        rows: dict[str, Any] = {metric: _row(metric, ways, found) for metric, ways in found.items()}
        return rows | {"load": [min(self._loads, default=0.0), max(self._loads, default=0.0)]}


def _row(metric: str, ways: dict[str, float], found: dict[str, dict[str, float]]) -> dict[str, Any]:
    beside = {way: value for way, value in ways.items() if way in {*OURS, "floor"} and way != "tandem"}
    peers = {way: value for way, value in ways.items() if way != "tandem" and way not in beside}
    row = {"ours": ways.get("tandem"), "peers": peers, "bar": _bar(metric, peers, found)}
    return row | ({"beside": beside} if beside else {})


def _bar(metric: str, peers: dict[str, float], found: dict[str, dict[str, float]]) -> float | None:
    if metric in LEAST:
        likeness = found.get(LEAST[metric], {})
        least = likeness.get("tandem", 0.0) - AS_GOOD
        return min((value for way, value in peers.items() if likeness.get(way, 0.0) >= least), default=None)
    if metric in MOST:
        return max(peers.values(), default=None)
    if metric in AS_SELKIES:
        return peers.get("selkies")
    if metric in AS_NOVNC:
        return peers.get("tigervnc", AS_NOVNC[metric])
    if metric in BARS and " late, " in metric:
        return min([BARS[metric], *peers.values()])
    return BARS.get(metric)
