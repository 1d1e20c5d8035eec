"""The ways in which the image is started, and what a started one says of itself, as a row of the table in docs/figures.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROFILE = Path(__file__).resolve().parents[2] / "deploy/seccomp/tandem.json"
WRITABLE = ("/run", "/tmp:exec", "/var/tmp", "/var/log/gem", "/home/gem")
READ_ONLY = ("--read-only", *(word for path in WRITABLE for word in ("--tmpfs", path)))
RESTRICTED = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges", *READ_ONLY)
GVISOR = "gVisor"
ENGINES: Mapping[str, tuple[str, ...]] = {
    "Docker, two flags": ("--security-opt", f"seccomp={PROFILE}", "--security-opt", "systempaths=unconfined", "--cap-drop", "NET_RAW"),
    "Docker, no flag": (),
    "Docker, restricted": ("--user", "1000", *RESTRICTED),
    "Docker, restricted, any user": ("--user", "100123:0", *RESTRICTED),
    GVISOR: ("--no-healthcheck",),
}
"""What the engine is given by name; gVisor also needs the runtime's name."""
VARIANTS: Mapping[str, str] = {"core": ":core", "browser": ":browser", "full": ""}
"""What follows the image's name, by variant."""
SAID = ("level", "browser", "browser's sandbox", "undo", "egress", "memory checkpoint")
MEASURED = ("first call, s", "ready, s", "idle, MiB")


def flags(name: str, runtime: str) -> tuple[str, ...]:
    """What the engine is given to start a row."""
    return (*ENGINES[name], *(("--runtime", runtime) if name == GVISOR else ()))


def said(capabilities: Mapping[str, Any], checks: Sequence[Mapping[str, Any]], browser: str) -> dict[str, str]:
    """The cells that follow from the answers of `GET /v1/capabilities` and `GET /v1/doctor`, and from whether a page was shown."""
    status = {check["name"]: check["status"] for check in checks}
    holds = {one["name"]: one["holds"] for one in capabilities["capabilities"]}
    return {
        "level": capabilities["rung"],
        "browser": browser,
        "browser's sandbox": status["browser_sandbox"] if browser == "yes" else "",
        "undo": "yes" if holds["undo"] else "no",
        "egress": "enforced" if status["egress_policy"] == "holds" else "asked for",
        "memory checkpoint": "from outside" if any(GVISOR in condition for condition in capabilities["conditions"]) else "no",
    }


def documented(page: str) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of the table in a page, by engine and variant."""
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines() if line.startswith("|")]
    heads = ["engine", "variant", *SAID, *MEASURED]
    body = lines[lines.index(heads) + 2 :]
    return {(row[0], row[1]): dict(zip(heads[2:], row[2:], strict=True)) for row in body if len(row) == len(heads) and row[0] in ENGINES}
