"""Parts of the desktop are killed while a client works: it sees an error, and what it tries next works."""

from collections.abc import Callable

import pytest
from websockets.exceptions import WebSocketException

from tests.image.container import Sandbox
from tests.image.test_browser import devtools
from tests.patience import until

TRY_SECONDS = 15.0
"""A page that lost its renderer just when it was opened answers nothing: Chromium waits for somebody to load it again."""
KEPT = "data:text/html,<title>Kept</title>"

# How each is found by root of the container, the oldest first.
VICTIMS = {
    "the X server": "pgrep -o Xvfb",
    "the window manager": "pgrep -o openbox",
    "chromium": "pgrep -o -f remote-debugging-pipe",
    "the GPU process": "pgrep -o -f type=gpu-process",
    "a renderer": "pgrep -n -f 'type=rendere[r]'",
    "the process that owns the browser": "pgrep -o -f 'sandbox_server cdp'",
    "the spawner": "pgrep -o -f 'sandbox_server spawn'",
    "the box's first process": "pgrep -o -x box",
}


def works(sandbox: Sandbox) -> bool:
    """Whether a new client can open a page and have it run something, and the screen be seen."""
    try:
        with devtools(sandbox) as client:
            client.patience = TRY_SECONDS
            target = client.result("Target.createTarget", url="about:blank")["targetId"]
            answer = client.evaluate("6 * 7", client.attach(target))
            client.result("Target.closeTarget", targetId=target)
    except (AssertionError, OSError, WebSocketException, TimeoutError, pytest.fail.Exception):
        return False
    return bool(answer == 42 and sandbox.request("GET", "/v1/browser/screenshot").status_code == 200)


def keeps(sandbox: Sandbox) -> bool:
    """Whether the tab that was open is open."""
    listed = sandbox.request("GET", "/json/list")
    return listed.status_code == 200 and any(one["url"] == KEPT for one in listed.json())


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.slow
def test_after_a_death_the_next_try_works_and_the_tabs_are_there(mended: Sandbox, victim: str) -> None:
    until(lambda: works(mended))
    if not keeps(mended):
        mended.request("PUT", f"/json/new?{KEPT}")
    until(lambda: mended.exec("sh", "-c", f'kill -9 "$({VICTIMS[victim]})"').code == 0)  # one may have just ended by itself
    until(lambda: works(mended), told=mended.logs)
    until(lambda: keeps(mended), told=mended.logs)
    until(lambda: mended.answers("/readyz"))


def test_a_client_that_is_cut_off_is_told_why(mended: Sandbox) -> None:
    until(lambda: works(mended))
    with devtools(mended) as client:
        client.pages()
        mended.exec("sh", "-c", f'kill -9 "$({VICTIMS["chromium"]})"')
        code, reason = client.until_closed()
    assert (code, "browser" in reason) == (1001, True)


def test_a_lock_that_was_left_behind_keeps_nobody_out(start_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = start_sandbox(env={"BROWSER_START": "lazy"})
    profile = "/run/sandbox-desktop/chromium"
    script = f"mkdir -p -m 700 {profile} && ln -s elsewhere-4711 {profile}/SingletonLock && ln -s /nowhere {profile}/SingletonSocket"
    assert sandbox.exec("sh", "-c", script, user="desktop").code == 0
    until(lambda: works(sandbox), told=sandbox.logs)
