"""The gate of the browser."""

from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.approval import ApprovalDenied
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
    for url in ("https://a.example:8443/%2Fx%3f", "https://[::1]:8080/x", "data:,http://u@a.example./%70", "blob:https://a.example/1"):
        assert compared(url) == url.replace("%70", "p")
    assert (host_of("https://u@[::1]:8080/x"), host_of("https://x@a.example:1")) == ("::1", "a.example")


async def test_names_of_files_are_compared_in_any_case(tmp_path: Path) -> None:
    for pattern, name in (("*.exe", "TOOL.EXE"), ("*.EXE", "tool.exe"), ({"regex": ".*[.]exe"}, "Tool.Exe")):
        rule = FILES | {"match": {"file": pattern}, "action": "deny"}
        with pytest.raises(ApprovalDenied):
            await browser(tmp_path, Person(), rule).admit_download("https://a.example/x", name)
