"""The network on the home page, on the live page and in the recorder: what the sandbox connects to, and what a person does about it."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.container import Completed, Sandbox
from tests.pages.conftest import DESKTOP, PHONE, keep_messages, messages, sign_in
from tests.pages.network_site import EVERY_VERSION, PRIVATE, SLOW, Site, egress, policy_kept, policy_of, put_policy, serve_site
from tests.pages.test_access import AXE, LOOKS, RUN
from tests.patience import until
from tests.refusals import assert_not_timed_out

SCROLL_WIDTH = "document.documentElement.scrollWidth"
MAX_KEPT = 300
"""Connections that the page counts."""
LOADED = "(place) => { place.scrollIntoView(); return place.childElementCount > 0; }"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_site() as found:
        yield found


@pytest.fixture(autouse=True)
def as_it_was(sandbox: Sandbox) -> Iterator[None]:
    """The policy is the default one before, and again after."""
    sandbox.request("GET", "/v1/sandbox").raise_for_status()
    with policy_kept(sandbox):
        yield


def curl(sandbox: Sandbox, site: Site, path: str = "") -> Completed:
    """Fetch from the site in the box; fails with code 22 for what is refused."""
    done = sandbox.run("curl", "-sSf", "-m", "20", site.url + path)
    assert_not_timed_out(done.stderr)
    return done


@contextmanager
def fetching(sandbox: Sandbox, site: Site) -> Iterator[None]:
    """A program of the box that waits for an answer of the site for as long as the context, and gets it then."""
    site.seen.clear()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.run, "curl", "-sSf", "-m", "90", site.url + SLOW)
        try:
            yield
        finally:
            site.seen.set()
        assert running.result().code == 0


def network(page: Page, sandbox: Sandbox, query: str = "") -> Locator:
    """The section of the home page, in sight."""
    page.goto(f"{sandbox.base_url}/{query}")
    found = page.locator("tandem-network")
    reach(found)
    expect(found.locator(".policy")).not_to_have_text(re.compile("Loading|正在加载"))
    return found


def reach(section: Locator) -> None:
    """Scroll to the section until it is loaded: what the page shows above may still grow, and push it away."""
    until(lambda: section.evaluate(LOADED))


def row(section: Locator, site: Site) -> Locator:
    return section.locator(".host", has_text=site.host)


def be_refused(section: Locator, sandbox: Sandbox, site: Site) -> Locator:
    """Fetch what the policy refuses, and wait until its row shows that: a row forgets what was decided before its newest connection."""

    def times() -> int:
        kept = egress(sandbox, "GET", "connections", params={"limit": MAX_KEPT})
        return sum(each["count"] for each in kept if each["host"] == site.host)

    before = times()
    assert curl(sandbox, site).code != 0
    until(lambda: times() > before)
    shown = row(section, site)
    expect(shown).to_contain_text("refused")
    expect(shown).to_contain_text("once" if times() == 1 else f"{times()} times")
    return shown


def press(place: Locator, name: str) -> None:
    """Press a button that may just have moved."""
    button = place.get_by_role("button").filter(has_text=re.compile(f"^{name}$"))
    expect(button.first).to_be_visible()
    button.first.click(delay=600)


def test_what_a_program_connects_to_appears_with_its_program_rule_and_bytes(person: Page, sandbox: Sandbox, site: Site) -> None:
    section = network(person, sandbox)
    expect(section.locator(".policy")).to_have_text("Everything is allowed but private metadata addresses")
    shown = row(section, site)
    with fetching(sandbox, site):
        expect(shown).to_contain_text("allowed")
        expect(shown.locator(".name")).to_contain_text(str(site.port))
        expect(shown.locator("small").first).to_contain_text("curl")
    expect(shown.locator("small").first).to_contain_text("↑")
    shown.locator("summary").click()
    expect(shown.locator(".connections")).to_contain_text("HTTP")
    expect(shown.get_by_role("button")).to_have_count(0)


def test_what_was_refused_is_always_allowed_in_one_click(person: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    section = network(person, sandbox)
    expect(section.locator(".policy")).to_have_text("Only 3 networks are allowed")
    shown = be_refused(section, sandbox, site)
    expect(shown).to_contain_text("rule “default”")
    press(shown, "Always allow")
    expect(shown).to_contain_text("Always allowed")
    assert any(site.host in rule.get("hosts", []) and rule["action"] == "allow" for rule in policy_of(sandbox)["rules"])
    expect(section.locator(".policy")).to_have_text("Only 1 host and 3 networks are allowed")
    assert curl(sandbox, site).code == 0
    expect(shown).to_contain_text("allowed")


def test_what_is_allowed_for_the_task_ends_by_a_button(person: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    section = network(person, sandbox)
    press(be_refused(section, sandbox, site), "Allow")
    expect(section.locator(".said").filter(has_text="The program has to try again")).to_be_visible()
    expect(section.locator(".grants li").first).to_contain_text("is allowed for a while")
    assert curl(sandbox, site).code == 0
    ends = section.locator(".grants").get_by_role("button")
    for left in range(len(egress(sandbox, "GET", "policy")["grants"]), 0, -1):  # one for each port that was refused
        expect(ends).to_have_count(left)
        ends.first.click()
    expect(section.locator(".grants li")).to_have_count(0)
    assert curl(sandbox, site).code != 0
    assert not any(site.host in rule.get("hosts", []) for rule in policy_of(sandbox)["rules"])


def test_what_was_refused_is_denied_for_good(person: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    section = network(person, sandbox)
    shown = be_refused(section, sandbox, site)
    press(shown, "Deny")
    expect(shown).to_contain_text("Denied")
    put = policy_of(sandbox)["rules"][0]
    assert (put["action"], put["hosts"]) == ("deny", [site.host])


def test_a_policy_is_learned_and_used(person: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    section = network(person, sandbox)
    section.get_by_role("button", name="Learn a policy").click()
    expect(section.locator(".policy")).to_have_text("Learning: 0 hosts noted")
    assert curl(sandbox, site).code == 0
    expect(section.locator(".policy")).to_have_text("Learning: 1 host noted")
    expect(row(section, site)).to_contain_text("learned")
    section.get_by_role("button", name="See the proposed policy").click()
    expect(section.locator(".proposal")).to_contain_text(f"allow {site.host}")
    expect(section.locator(".proposal")).to_contain_text("mode: learn → enforce")
    section.get_by_role("button", name="Use this policy").click()
    expect(section.locator(".learning .said")).to_have_text("The proposed policy is in force.")
    assert (policy_of(sandbox)["mode"], policy_of(sandbox)["default"]) == ("enforce", "deny")
    assert curl(sandbox, site).code == 0


def edit(section: Locator) -> Locator:
    """Open the editor; its text."""
    section.locator("summary", has_text="Edit the policy").click()
    text = section.get_by_label("The policy as JSON")
    expect(text).to_have_value(re.compile('"rules"'))
    return text


def test_errors_of_the_policy_are_placed_in_the_editor_and_the_old_one_stands(person: Page, sandbox: Sandbox) -> None:
    before = policy_of(sandbox)
    section = network(person, sandbox)
    text = edit(section)
    text.fill('{\n  "default": "deny",\n  "rules": [\n    {"action": "allow", "hosts": ["a.example"], "ports": ["x"]}\n  ]\n}')
    section.get_by_role("button", name="Save").click()
    expect(section.locator(".problems li")).to_contain_text("/rules/0/ports/0")
    expect(section.locator(".problems button")).to_have_text("Line 4")
    assert text.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == '"x"'
    assert policy_of(sandbox) == before
    text.fill('{"default": deny}')
    section.get_by_role("button", name="Save").click()
    expect(section.locator(".problems li")).to_contain_text("this is not JSON")
    text.fill(json.dumps({"default": "deny", "rules": [PRIVATE]}))
    section.get_by_role("button", name="Save").click()
    expect(section.locator(".editor .said")).to_contain_text("Saved.")
    assert policy_of(sandbox)["default"] == "deny"
    expect(section.locator(".problems li")).to_have_count(0)


def test_what_somebody_else_changed_meanwhile_is_told_and_nothing_is_lost(person: Page, sandbox: Sandbox) -> None:
    section = network(person, sandbox)
    text = edit(section)
    mine = json.dumps({"default": "deny", "rules": [{"name": "mine", "action": "allow", "hosts": ["mine.example"]}, PRIVATE]})
    text.fill(mine)
    theirs = {"default": "allow", "rules": [{"name": "theirs", "action": "deny", "hosts": ["theirs.example"]}, PRIVATE]}
    egress(sandbox, "PUT", "policy", json=theirs, headers=EVERY_VERSION)
    expect(section.locator(".conflict")).to_contain_text("Your text is still here")
    expect(section.locator(".conflict")).to_contain_text("deny theirs.example")
    expect(text).to_have_value(mine)
    section.get_by_role("button", name="Save mine instead").click()
    expect(section.locator(".editor .said")).to_contain_text("Saved.")
    assert policy_of(sandbox)["rules"][0]["hosts"] == ["mine.example"]


@contextmanager
def visitor(browser: Browser, sandbox: Sandbox, *scopes: str) -> Iterator[tuple[Page, list[str]]]:
    """Home of somebody with these scopes alone, and the egress operations that the page called."""
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": list(scopes)}).json()["ticket"]
    with browser.new_context(**DESKTOP) as context:
        page, called = context.new_page(), list[str]()
        page.on("request", lambda request: called.append(request.url) if "/v1/egress" in request.url else None)
        page.goto(f"{sandbox.base_url}/?ticket={ticket}")
        expect(page.locator("#navigation a").first).to_be_attached()
        yield page, called


def test_who_does_not_manage_the_sandbox_sees_the_state_of_the_policy_alone(browser: Browser, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    with visitor(browser, sandbox, "view", "control", "shell") as (page, called):
        reach(page.locator("tandem-network"))
        expect(page.locator("tandem-network .policy")).to_have_text("Only what 1 rule allows")
        assert curl(sandbox, site).code != 0
        expect(page.locator("tandem-network .host, tandem-network button")).to_have_count(0)
        assert {url.rsplit("/", 1)[1] for url in called} == {"status"}


def test_a_guest_sees_nothing_of_the_network(browser: Browser, sandbox: Sandbox) -> None:
    with visitor(browser, sandbox, "view") as (page, called):
        expect(page.locator("tandem-network")).to_be_hidden()
        page.mouse.wheel(0, 5000)
        expect(page.get_by_text("metadata addresses")).to_have_count(0)
        assert called == []


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_and_nothing_goes_sideways(browser: Browser, sandbox: Sandbox, site: Site, look: str) -> None:
    put_policy(sandbox)
    curl(sandbox, site)
    with browser.new_context(**LOOKS[look], bypass_csp=True) as context:
        section = network(sign_in(context, sandbox), sandbox)
        row(section, site).locator("summary").click()
        edit(section)
        page = section.page
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(RUN) == []
        assert page.evaluate(SCROLL_WIDTH) == LOOKS[look]["viewport"]["width"]


def test_it_speaks_chinese(person: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    curl(sandbox, site)
    section = network(person, sandbox, "?lang=zh")
    expect(section.locator(".policy")).to_have_text("仅允许 3 个网络")
    expect(row(section, site)).to_contain_text("已拒绝")
    expect(row(section, site).get_by_role("button").first).to_have_text("允许")


BLOCKED = "blocked-by-policy.example"


def blocked(sandbox: Sandbox) -> None:
    """Open a page in Chromium that the policy refuses: it shows an error of TLS."""
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"https://{BLOCKED}/"})


@pytest.mark.parametrize("path", ["/view", "/"])
def test_a_blocked_page_is_told_with_its_rule_on_the_live_page_and_at_home(person: Page, sandbox: Sandbox, path: str) -> None:
    put_policy(sandbox)
    person.goto(sandbox.base_url + path)
    expect(person.locator("#driver")).to_have_text("The agent drives")
    keep_messages(person)
    blocked(sandbox)
    notice = person.locator(".notice", has_text=BLOCKED)
    expect(notice).to_contain_text(f"{BLOCKED}:443 was blocked by the rule “default”. Chromium may call that ERR_SSL_PROTOCOL_ERROR")
    notice.get_by_role("button", name="Allow", exact=True).click()
    until(lambda: any("Load the page again." in told for told in messages(person)))
    expect(notice.get_by_role("button", name="Allow", exact=True)).to_have_count(0)
    assert [grant["host"] for grant in egress(sandbox, "GET", "policy")["grants"]] == [BLOCKED]


def test_who_does_not_manage_the_sandbox_is_offered_nothing_about_a_blocked_page(browser: Browser, sandbox: Sandbox) -> None:
    put_policy(sandbox)
    with visitor(browser, sandbox, "view", "control") as (page, _):
        page.goto(f"{sandbox.base_url}/view")
        expect(page.locator("#driver")).to_have_text("The agent drives")
        blocked(sandbox)
        until(lambda: BLOCKED in json.dumps(egress(sandbox, "GET", "connections")))
        expect(page.locator(".notice", has_text=BLOCKED)).to_have_count(0)


def test_the_recorder_has_connections_as_sentences_in_a_lane_of_their_own(person: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    assert curl(sandbox, site, "exfiltrate").code != 0
    until(lambda: any(each.get("host") == site.host for each in records(sandbox)))
    person.goto(f"{sandbox.base_url}/recorder")
    refused = person.locator("#list .row > button", has_text=f"was refused {site.place} by the rule").first
    expect(refused).to_be_visible()
    expect(refused).to_have_class(re.compile("failed"))
    lane = person.locator("#timeline .lane[data-driver=network]")
    expect(lane.locator(".name")).to_have_text("Network")
    expect(lane.locator(".mark[data-kind=refused]").first).to_be_attached()
    refused.click()
    expect(person.locator(".detail .facts")).to_contain_text("default")


def records(sandbox: Sandbox) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sandbox.request("GET", "/v1/recorder/events", params={"kind": "egress"}).json()["data"]["events"]
    return found


def test_the_last_acts_do_not_drown_in_connections(person: Page, sandbox: Sandbox, site: Site) -> None:
    person.goto(f"{sandbox.base_url}/")
    for number in range(8):
        curl(sandbox, site, str(number))
    expect(person.locator("#acts li").first).to_contain_text("Agent ran")
    until(lambda: len(records(sandbox)) > 0)
    expect(person.locator("#acts li", has_text="connected to")).to_have_count(0)


def test_on_a_phone_a_refused_host_is_allowed_with_a_thumb(phone: Page, sandbox: Sandbox, site: Site) -> None:
    put_policy(sandbox)
    assert curl(sandbox, site).code != 0
    section = network(phone, sandbox)
    press(row(section, site), "Always allow")
    expect(row(section, site)).to_contain_text("Always allowed")
    assert curl(sandbox, site).code == 0
    assert phone.evaluate(SCROLL_WIDTH) == PHONE["viewport"]["width"]
