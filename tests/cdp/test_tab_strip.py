"""The tab strip as a person sees it."""

from typing import Any

from tests.patience import until

BrowserServer = Any


def test_the_strip_shows_the_tabs_in_order_and_which_is_in_front(shared: BrowserServer) -> None:
    def strip() -> list[tuple[str, bool]]:
        return [(tab["page"], tab["active"]) for tab in shared.get("/browser/tabs")]

    with shared.connect() as client:
        first = client.pages()[0]["targetId"]
        second = client.result("Target.createTarget", url="about:blank#second")["targetId"]
        until(lambda: strip() == [(first, False), (second, True)])
        client.result("Target.activateTarget", targetId=first)
        until(lambda: strip() == [(first, True), (second, False)])
        client.result("Target.closeTarget", targetId=second)
        until(lambda: strip() == [(first, True)])


def test_the_strip_is_read_anew_after_a_restart(shared: BrowserServer) -> None:
    def strip(key: str) -> list[str]:
        return [tab[key] for tab in shared.get("/browser/tabs")]

    urls, pages = strip("url"), strip("page")
    assert shared.request("POST", "/browser/restart").status_code == 200
    until(lambda: strip("url") == urls)  # a tab has no address before it has gone there
    assert strip("page") != pages


def test_looking_at_the_strip_leaves_no_session_behind(shared: BrowserServer) -> None:
    shared.get("/browser/tabs")
    with shared.connect() as client:
        assert not [
            info for info in client.result("Target.getTargets", filter=[{}])["targetInfos"] if info["type"] == "tab" and info["attached"]
        ]


def test_the_strip_tells_nothing_that_a_person_typed_into_a_field_for_a_secret(shared: BrowserServer) -> None:
    with shared.connect() as client:
        page = client.attach(client.pages()[0]["targetId"])
        client.evaluate("document.body.innerHTML = '<input type=password id=field>'", page)
        origin = client.evaluate("self.origin", page)
        given = {"origin": origin, "selector": "#field", "secret": "correct-horse-battery"}
        shared.request("PUT", "/browser/secret", json=given)
        client.evaluate("document.title = 'mine: correct-horse-battery'", page)
        until(lambda: any(tab["title"].startswith("mine: ") for tab in shared.get("/browser/tabs")))
        assert "horse" not in str(shared.get("/browser/tabs"))
