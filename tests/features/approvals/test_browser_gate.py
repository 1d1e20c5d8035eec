"""The gate of the browser."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.approval import ApprovalDenied
from sandbox_server.drivers.egress.body_summary import UNKNOWN_BODY, body_summary
from sandbox_server.features.approvals.browser_gate import BrowserGate, compared, host_of
from tests.features.approvals.people import Person
from tests.features.approvals.test_gate import gate

pytestmark = pytest.mark.anyio

BANK = {"name": "bank", "subject": "navigation", "match": {"host": "*.bank.example"}}
SHOP = {"name": "shop", "subject": "submit", "match": {"host": "shop.example"}}
FILES = {"name": "files", "subject": "download", "match": {"file": "*.exe"}}


PAGE, DATA, FORM = ["navigation"], ["submit"], ["navigation", "submit"]


def browser(folder: Path, person: Person, *rules: dict[str, Any], held: bool = False) -> BrowserGate:
    return BrowserGate(gate(folder, person, *rules)[0], lambda: held)


def test_only_what_rules_are_about_is_held_up(tmp_path: Path) -> None:
    person = Person()
    assert browser(tmp_path, person, {"name": "x", "subject": "shell"}).subjects() == []
    assert browser(tmp_path, person, BANK).subjects() == ["navigation"]
    assert browser(tmp_path, person, SHOP, BANK).subjects() == ["navigation", "submit"]
    assert browser(tmp_path, person, BANK | {"action": "allow"}).subjects() == []
    assert (browser(tmp_path, person, FILES).subjects(), browser(tmp_path, person, FILES).follows_downloads()) == (["download"], True)
    assert not browser(tmp_path, person, BANK).follows_downloads()


async def test_a_page_opens_once_a_person_allows_it(tmp_path: Path) -> None:
    person = Person("once", "deny")
    found = browser(tmp_path, person, BANK)
    for admitted in (True, False):
        assert await found.admit(PAGE, "https://www.bank.example/login?x=1#part", "GET") == admitted
    assert person.asked[0].details == {"host": "www.bank.example", "url": "https://www.bank.example/login?x=1", "method": "GET"}
    assert (found.denials, found.last and found.last.kind) == (1, "approval_denied")


@pytest.mark.parametrize(
    "url",
    [
        "https://WWW.BANK.EXAMPLE/",
        "https://www.bank.example./",
        "https://user:pw@www.bank.example/",
        "https://www.bank.example:8443/",
        "http://www.bank.example/",
    ],
)
async def test_a_host_is_the_same_however_it_is_written(tmp_path: Path, url: str) -> None:
    assert not await browser(tmp_path, Person("deny"), BANK).admit(PAGE, url, "GET")


@pytest.mark.parametrize(
    "url", ["https://bank.example.evil.example/", "https://evil.example/?www.bank.example", "about:blank", "data:text/html,x"]
)
async def test_another_host_opens_without_a_question(tmp_path: Path, url: str) -> None:
    person = Person("deny")
    assert await browser(tmp_path, person, BANK).admit(PAGE, url, "GET")
    assert person.asked == []


async def test_data_is_sent_to_a_listed_site_only_with_approval(tmp_path: Path) -> None:
    person = Person("deny")
    found = browser(tmp_path, person, SHOP)
    for subjects in (DATA, FORM):
        assert not await found.admit(subjects, "https://shop.example/pay", "POST")
    assert await found.admit(DATA, "https://other.example/pay", "POST")
    assert await found.admit(PAGE, "https://shop.example/", "GET")


async def test_a_sent_form_needs_both_where_both_have_rules(tmp_path: Path) -> None:
    person = Person("once", "deny")
    both = (BANK | {"match": {"host": "shop.example"}}, SHOP)
    assert not await browser(tmp_path, person, *both).admit(FORM, "https://shop.example/pay", "POST")
    assert [question.subject for question in person.asked] == ["navigation", "submit"]


async def test_while_a_person_drives_no_download_is_asked_about(tmp_path: Path) -> None:
    person = Person("deny")
    found = browser(tmp_path, person, FILES, held=True)
    await found.admit_download("https://a.example/x.exe", "x.exe")
    assert person.asked == []


async def test_for_ever_is_for_that_host(tmp_path: Path) -> None:
    person = Person("always", "deny")
    found = browser(tmp_path, person, BANK)
    assert await found.admit(PAGE, "https://www.bank.example/a", "GET")
    assert await found.admit(PAGE, "https://www.bank.example/b", "GET")
    assert not await found.admit(PAGE, "https://pay.bank.example/", "GET")


async def test_a_file_is_handed_over_only_with_approval(tmp_path: Path) -> None:
    person = Person("deny")
    found = browser(tmp_path, person, FILES)
    await found.admit_download("https://a.example/x.txt", "x.txt")
    with pytest.raises(ApprovalDenied):
        await found.admit_download("https://a.example/x.exe", "x.exe")
    assert person.asked[0].details == {"file": "x.exe", "url": "https://a.example/x.exe", "host": "a.example"}


async def test_of_a_file_from_nowhere_every_rule_is_about_it(tmp_path: Path) -> None:
    with pytest.raises(ApprovalDenied):
        await browser(tmp_path, Person("deny"), FILES).admit_download(None, "x.txt")


def test_a_blobs_host_is_its_pages() -> None:
    assert host_of("blob:https://a.example/1-2") == "a.example"
    assert [host_of(each) for each in ("data:,x", "", None, "data:text/html,http://a.example/")] == ["", "", "", ""]


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/pay?x=1",
        "https://user:pw@shop.example/pay?x=1#part",
        "https://shop.example./pay?x=1",
        "https://a@b@shop.example/%70%61y?x=1",
        "https://[x:y@shop.example/pay?x=1",
    ],
)
async def test_a_url_is_the_same_however_it_is_written(tmp_path: Path, url: str) -> None:
    rule = {"name": "pay", "subject": "submit", "match": {"url": "https://shop.example/pay*", "host": "SHOP.example"}, "action": "deny"}
    assert not await browser(tmp_path, Person(), rule).admit(DATA, url, "POST")


def test_what_means_something_else_stays_as_it_is() -> None:
    for url in ("https://a.example:8443/%20x?y=%2F", "https://[::1]:8080/x", "data:,http://u@a.example./%70", "blob:https://a.example/1"):
        assert compared(url) == url.replace("%70", "p")
    assert (host_of("https://u@[::1]:8080/x"), host_of("https://x@a.example:1")) == ("::1", "a.example")


async def test_names_of_files_are_compared_in_any_case(tmp_path: Path) -> None:
    for pattern, name in (("*.exe", "TOOL.EXE"), ("*.EXE", "tool.exe"), ({"regex": ".*[.]exe"}, "Tool.Exe")):
        rule = FILES | {"match": {"file": pattern}, "action": "deny"}
        with pytest.raises(ApprovalDenied):
            await browser(tmp_path, Person(), rule).admit_download("https://a.example/x", name)


PAY = {"name": "pay", "subject": "submit", "match": {"url": "https://shop.example/pay*"}}


@pytest.mark.parametrize("path", ["//pay", "/x%2fpay", "/pay;x", "/%2e%2fpay", "/x%5cpay", "/%2570ay", "/%zzpay", "/pay%00"])
@pytest.mark.parametrize("action", ["deny", "ask"])
async def test_a_url_with_two_readings_is_refused_with_the_reason_where_a_rule_may_be_about_it(
    tmp_path: Path, path: str, action: str
) -> None:
    person = Person("once")
    found = browser(tmp_path, person, PAY | {"action": action})
    assert not await found.admit(DATA, f"https://shop.example{path}", "POST")
    assert found.last
    assert "may be about this, or not: its path has" in found.last.message
    assert person.asked == []


async def test_rules_that_cannot_be_about_it_or_surely_are_decide(tmp_path: Path) -> None:
    person = Person("once")
    other = browser(tmp_path, person, PAY | {"match": {"url": "https://other.example/pay*"}})
    assert await other.admit(DATA, "https://shop.example//pay", "POST")
    by_host = browser(tmp_path, person, SHOP)
    assert await by_host.admit(DATA, "https://shop.example//pay", "POST")
    every_path = browser(tmp_path, person, PAY | {"match": {"url": "https://shop.example/*"}})
    assert await every_path.admit(DATA, "https://shop.example//pay", "POST")
    assert len(person.asked) == 2
    by_regex = browser(tmp_path, person, PAY | {"match": {"url": {"regex": ".*pay"}}})
    assert not await by_regex.admit(DATA, "https://shop.example//pay", "POST")


async def test_what_is_sent_is_shown_and_allowed_once_or_by_a_rule(tmp_path: Path) -> None:
    person = Person("once", "deny")
    found = browser(tmp_path, person, SHOP)
    for body in (body_summary(b"to=alice"), UNKNOWN_BODY):
        await found.admit(DATA, "https://shop.example/pay?x=1", "POST", body)
    assert [question.details["body"] for question in person.asked] == ["to=alice", "(a body that the browser does not tell)"]
    assert person.asked[0].answers == ("once", "always", "deny")
    shown = {"subject": "submit", "match": {"host": "shop.example"}, "action": "allow"}
    assert json.loads(person.asked[0].effects["always"].rule) == shown


async def test_for_this_task_allows_the_pages_of_a_host_and_a_file_from_one_address(tmp_path: Path) -> None:
    person = Person("task", "deny")
    found = browser(tmp_path, person, BANK)
    for path in ("/a", "/b"):
        assert await found.admit(PAGE, f"https://www.bank.example{path}", "GET")
    assert person.asked[0].effects["task"].covers == "Every page of www.bank.example."
    assert not await found.admit(PAGE, "https://pay.bank.example/", "GET")
    person = Person("task", "deny")
    found = browser(tmp_path, person, FILES)
    for _ in range(2):
        await found.admit_download("https://a.example/1/x.exe", "x.exe")
    with pytest.raises(ApprovalDenied):
        await found.admit_download("https://a.example/2/x.exe", "x.exe")


async def test_an_address_of_which_no_rule_can_be_made_is_allowed_once(tmp_path: Path) -> None:
    person = Person("once")
    found = browser(tmp_path, person, BANK | {"match": {}})
    assert await found.admit(PAGE, f"data:text/html,{'x' * 1200}", "GET")
    assert person.asked[0].answers == ("once", "deny")
