"""Writes what `run` found as tables: `run --full | tail -n 1 | tables.py`. With README.md as argument, into it, between its marks.

The first four are those of the AgentBay paper (arXiv 2512.04367, tables 3 to 6), whose own figures for ASP and RDP stand beside: they are
of its authors' machines and network, and how they measured is not said. The last holds every figure that has a bar against it.
"""

import json
import sys
from pathlib import Path
from typing import Any

ORDER = ("websocket", "tigervnc", "x11vnc", "selkies", "selkies-webrtc", "rdp")
"""Of the columns beside our own."""
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
PAPER: dict[str, dict[str, tuple[str, str, str, float]]] = {
    "Click to photon, ms": {
        "normal": ("click ms, normal", "117", "122", 1),
        "95th percentile": ("click p95 ms, normal", "", "", 1),
        "10 % loss": ("click ms, 10 % loss", "", "", 1),
        "10 % loss, 95th percentile": ("click p95 ms, 10 % loss", "", "", 1),
    },
    "Stutter, % of pictures": {
        f"{link}: {what}": (f"{kind} late, {link}", asp, rdp, 100)
        for link, kind, what, asp, rdp in (
            ("normal", "scroll", "web, 20 a second", "0.51", "1.16"),
            ("normal", "video", "video, 30 a second", "0.59", "5.08"),
            ("5 Mbit/s", "scroll", "web", "1.29", "36.45"),
            ("5 Mbit/s", "video", "video", "2.57", "7.57"),
            ("10 % loss", "scroll", "web", "16.45", "96.16"),
            ("10 % loss", "video", "video", "8.55", "44.96"),
        )
    },
    "Bandwidth, kbit/s": {
        "Word: typing": ("type kbit/s", "85", "99", 1),
        "PowerPoint: slides": ("slides kbit/s", "1400", "2000", 1),
        "web: scrolling": ("scroll kbit/s, normal", "1300", "1900", 1),
        "video": ("video kbit/s, normal", "4600", "10200", 1),
        "web: pictures a second": ("scroll fps, normal", "", "", 1),
        "video: pictures a second": ("video fps, normal", "", "", 1),
    },
    "Picture quality (ours: SSIM; the paper's: not named)": {
        "Word: typed text, RGB, 1 s after": ("type rgb ssim 1 s after, normal", ".562", ".569", 1),
        "web: page, RGB, while it scrolls": ("scroll rgb ssim, normal", ".833", ".827", 1),
        "image: slide, RGB, 1 s after": ("slides rgb ssim 1 s after, normal", ".960", ".959", 1),
        "video: brightness, while it plays": ("video ssim, normal", ".753", ".750", 1),
        "web: page, RGB, 1 s after": ("scroll rgb ssim 1 s after, normal", "", "", 1),
        "video: brightness, 1 s after": ("video ssim 1 s after, normal", "", "", 1),
    },
}
"""By table and row: the metric of `run`, the paper's ASP and RDP, and what a figure is multiplied with."""


def figure(value: float | None, times: float = 1) -> str:
    """A figure as it is read: a missing one is a dash."""
    if value is None:
        return "-"
    value *= times
    if value in (0, 1) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}"


def row(cells: list[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |\n"


def of_paper(found: dict[str, Any], rows: dict[str, tuple[str, str, str, float]]) -> str:
    """A table of the paper's, with every way of showing beside."""
    present = [found[metric] for metric, *_ in rows.values() if metric in found]
    beside = [name for name in ORDER if any(name in row.get("beside", {}) for row in present)]
    peers = [name for name in ORDER if any(name in row["peers"] for row in present)]
    text = row(["", "tandem", *beside, *peers, "paper: ASP", "paper: RDP"]) + row(["---"] * (5 + len(beside) + len(peers) - 1))
    for name, (metric, asp, rdp, times) in rows.items():
        one = found.get(metric, {"ours": None, "peers": {}})
        cells = [one["ours"], *(one.get("beside", {}).get(way) for way in beside), *(one["peers"].get(way) for way in peers)]
        text += row([name, *(figure(cell, times) for cell in cells), asp, rdp])
    return text


def of_bars(found: dict[str, Any]) -> str:
    """Every figure with a bar: whether ours is at it, and the best of the peers."""
    text = row(["", "tandem", "bar", "", "peers"]) + row(["---"] * 5)
    for metric, one in found.items():
        if not isinstance(one, dict) or one["bar"] is None or one["ours"] is None:
            continue
        met = one["ours"] >= one["bar"] if "ssim" in metric else one["ours"] <= one["bar"]
        peers = ", ".join(f"{name} {figure(value)}" for name, value in sorted(one["peers"].items(), key=lambda peer: ORDER.index(peer[0])))
        text += row([metric, figure(one["ours"]), figure(one["bar"]), "met" if met else "missed", peers])
    return text


def written(found: dict[str, Any]) -> str:
    """All tables."""
    least, most = found["load"]
    text = f"Load {least:.1f} to {most:.1f}. A dash: not measured in that run.\n"
    for name, rows in PAPER.items():
        text += f"\n**{name}**\n\n{of_paper(found, rows)}"
    return f"{text}\n**Bars**\n\n{of_bars(found)}"


def main() -> None:
    """Read the object, write the tables."""
    text = written(json.loads(sys.stdin.read().splitlines()[-1]))
    if len(sys.argv) < 2:
        sys.stdout.write(text)
        return
    page = Path(sys.argv[1])
    head, _, rest = page.read_text("utf-8").partition(BEGIN)
    page.write_text(f"{head}{BEGIN}{text}{END}{rest.partition(END)[2]}", "utf-8")


main()
