"""The table of docs/figures.md, row by row: what it says holds on each engine, variant and isolation level that this machine has."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.engines.rows import ENGINES, GVISOR, SAID, VARIANTS, documented, flags, said
from tests.image.container import Launcher, Sandbox, engine
from tests.image.test_gvisor import RUNTIME, has_runtime

ROWS = documented(Path("docs/figures.md").read_text("utf-8"))
BLOCKED = "this image has no desktop and no browser"


@pytest.fixture
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """What starts the row's container."""
    variant = request.getfixturevalue("variant")
    image, run = f"{os.environ['TANDEM_IMAGE']}{VARIANTS[variant]}", os.environ["TANDEM_RUN"]
    if engine("image", "inspect", image).code != 0:
        pytest.fail(f"there is no image {image}: run scripts/build {variant}")
    made = Launcher(image, run, f"{abs(hash(request.node.nodeid)):x}"[:8], plain=True)
    try:
        yield made
    finally:
        made.remove()


def shows_a_page(sandbox: Sandbox) -> str:
    """Whether the browser shows a page; `none` where the image says that it has no browser."""
    reply = sandbox.request("POST", "/v1/browser/page/navigate", json={"url": "data:text/html,<title>here</title><p>seen"})
    if reply.status_code == 503 and reply.json()["message"] == BLOCKED:
        return "none"
    return "yes" if reply.is_success and "seen" in sandbox.request("GET", "/v1/browser/page/text").text else "no"


def test_every_engine_and_variant_has_a_row() -> None:
    assert set(ROWS) == {(name, variant) for name in ENGINES for variant in VARIANTS}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), ROWS)
def test_a_row_says_what_is_seen(name: str, variant: str, launcher: Launcher) -> None:
    if name == GVISOR and not has_runtime():
        pytest.skip(f"the engine has no runtime {RUNTIME}: docs/install.md says how to add it")
    sandbox = launcher.start(args=[*flags(name, RUNTIME), "--shm-size", "1g"])
    capabilities, checks = (sandbox.request("GET", f"/v1/{path}").json()["data"] for path in ("capabilities", "doctor"))
    seen = said(capabilities, checks["checks"], shows_a_page(sandbox))
    assert seen == {column: ROWS[name, variant][column] for column in SAID}
