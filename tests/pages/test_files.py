"""The files page as a person meets it: browsing, a preview, and changes that the agent finds on the disk."""

import base64
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.image.container import Sandbox
from tests.pages.conftest import DESKTOP
from tests.patience import until

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title='owned'</script></svg>"
PREVIEW_BYTES = 256 << 10


def write(sandbox: Sandbox, path: str, content: str, **more: str) -> None:
    answer = sandbox.request("POST", "/v1/file/write", json={"file": path, "content": content, **more}).json()
    assert answer["success"], answer


def content_of(sandbox: Sandbox, path: str) -> str | None:
    """What the agent reads there; None where there is nothing."""
    answer = sandbox.request("POST", "/v1/file/read", json={"file": path}).json()
    return str(answer["data"]["content"]) if answer["success"] else None


def holds(sandbox: Sandbox, wanted: dict[str, str | None]) -> bool:
    return {path: content_of(sandbox, path) for path in wanted} == wanted


def show(page: Page, sandbox: Sandbox, folder: str, opened: str = "") -> None:
    page.goto("about:blank")
    page.goto(f"{sandbox.base_url}/files#path={folder}{f'&open={opened}' if opened else ''}")
    expect(page.locator("#state")).not_to_have_text("Loading…")


def names(page: Page) -> Locator:
    return page.locator("tbody bdi")


def menu(page: Page, name: str) -> Locator:
    page.get_by_role("button", name=f"Actions: {name}", exact=True).click()
    return page.locator("#menu")


@pytest.fixture
def filled(sandbox: Sandbox, folder: str) -> Iterator[str]:
    """A folder with what folders have."""
    write(sandbox, f"{folder}/notes.txt", "one\ntwo <b>bold</b>\n")
    write(sandbox, f"{folder}/.hidden", "x")
    write(sandbox, f"{folder}/page.svg", SVG)
    write(sandbox, f"{folder}/pixel.png", PIXEL, encoding="base64")
    write(sandbox, f"{folder}/sub/deep/Report10.md", "# deep")
    assert sandbox.run("ln", "-s", "sub", f"{folder}/shortcut").code == 0
    yield folder
    sandbox.request("POST", "/v1/control/release", json={})


def test_a_person_starts_where_the_agent_works_and_browses_by_address(person: Page, sandbox: Sandbox, filled: str) -> None:
    person.goto(f"{sandbox.base_url}/files")
    workspace = sandbox.request("GET", "/v1/sandbox").json()["workspace"]
    expect(person.locator("#path [aria-current]")).to_have_text(Path(workspace).name)
    show(person, sandbox, filled)
    expect(names(person)).to_have_text(["shortcut", "sub", "notes.txt", "page.svg", "pixel.png"])
    expect(person.locator("tr", has_text="shortcut").locator(".badge")).to_have_text("link")
    expect(person.locator("#state")).to_have_text("Folders: 2 · Files: 3 · Hidden: 1")
    person.get_by_label("Show hidden files").check()
    expect(names(person).filter(has_text=".hidden")).to_be_visible()
    person.get_by_role("link", name="sub").click()
    expect(names(person)).to_have_text(["deep"])
    assert person.url.endswith(f"/files#path={filled}/sub")
    person.go_back()
    expect(names(person).filter(has_text="notes.txt")).to_be_visible()
    person.locator("#path").get_by_role("link", name="home", exact=True).click()
    expect(names(person).filter(has_text="gem").first).to_be_visible()


def test_a_column_sorts_the_list_with_folders_first(person: Page, sandbox: Sandbox, folder: str) -> None:
    for name, size in (("a10", 10), ("a9", 300), ("a1", 20)):
        write(sandbox, f"{folder}/{name}", "x" * size)
    assert sandbox.run("mkdir", f"{folder}/z").code == 0
    show(person, sandbox, folder)
    expect(names(person)).to_have_text(["z", "a1", "a9", "a10"])
    person.get_by_role("button", name="Size", exact=True).click()
    expect(names(person)).to_have_text(["z", "a9", "a1", "a10"])
    person.get_by_role("button", name="Name", exact=True).click()
    person.get_by_role("button", name="Name", exact=True).click()
    expect(names(person)).to_have_text(["z", "a10", "a9", "a1"])


def test_a_text_and_a_picture_are_shown_and_nothing_runs(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled)
    person.get_by_role("link", name="notes.txt").click()
    expect(person.locator("#preview pre")).to_have_text("one\ntwo <b>bold</b>\n")
    expect(person.locator("#preview pre b")).to_have_count(0)
    person.get_by_role("link", name="pixel.png").click()
    expect(person.get_by_role("img", name="Picture: pixel.png")).to_be_visible()
    picture = person.locator("#preview img")
    until(lambda: picture.evaluate("(image) => [image.naturalWidth, new URL(image.src).protocol]") == [1, "blob:"])
    person.get_by_role("link", name="page.svg").click()
    expect(person.locator("#preview pre")).to_contain_text("<svg")
    expect(person.locator("#preview :is(svg, img, iframe)")).to_have_count(0)
    expect(person).not_to_have_title(re.compile("owned"))
    show(person, sandbox, filled, "notes.txt")
    expect(person.locator("#preview pre")).to_contain_text("two")
    person.get_by_role("button", name="Close").click()
    expect(person.locator("#preview")).to_be_hidden()


def test_of_a_large_text_the_start_is_shown_and_so_it_says(person: Page, sandbox: Sandbox, folder: str) -> None:
    write(sandbox, f"{folder}/big.log", "0123456789abcde\n" * (PREVIEW_BYTES // 8))
    write(sandbox, f"{folder}/binary", base64.b64encode(b"\0\1\2\3" * 9).decode(), encoding="base64")
    show(person, sandbox, folder, "big.log")
    expect(person.locator("#preview-note")).to_have_text("The first 256 KiB of 512 KiB are shown. Download it to see all.")
    assert person.locator("#preview pre").evaluate("(text) => text.textContent.length") == PREVIEW_BYTES
    show(person, sandbox, folder, "binary")
    expect(person.locator("#preview-note")).to_contain_text("This kind of file has no preview.")


def test_hostile_names_and_texts_are_only_read(person: Page, sandbox: Sandbox, folder: str) -> None:
    write(sandbox, f"{folder}/<img src=x onerror=alert(1)>", "x")
    write(sandbox, f"{folder}/gpj\u202etxt.exe", "turned \u202eback\u001b[31m")
    write(sandbox, f"{folder}/{'w' * 250}", "x")
    show(person, sandbox, folder)
    expect(names(person)).to_have_text(["<img src=x onerror=alert(1)>", "gpj\ufffdtxt.exe", "w" * 250])
    expect(person.locator("tbody img")).to_have_count(0)
    assert person.evaluate("document.documentElement.scrollWidth") == DESKTOP["viewport"]["width"]
    person.get_by_role("link", name="gpj").click()
    expect(person.locator("#preview pre")).to_have_text("turned \ufffdback\ufffd[31m")


def test_what_the_agent_makes_and_writes_appears_by_itself(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled, "notes.txt")
    expect(person.locator("#preview pre")).to_contain_text("two")
    write(sandbox, f"{filled}/fresh.txt", "new")
    write(sandbox, f"{filled}/notes.txt", "three, and more than before\n")
    expect(names(person).filter(has_text="fresh.txt")).to_be_visible()
    expect(person.locator("#preview pre")).to_have_text("three, and more than before\n")


def test_a_file_is_found_by_a_part_of_its_name_in_either_case(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled)
    person.get_by_role("searchbox").fill("report")
    expect(names(person)).to_have_text(["sub/deep/Report10.md"])
    person.get_by_role("link", name="sub/deep/Report10.md").click()
    expect(person.locator("#path [aria-current]")).to_have_text("deep")
    expect(person.locator("#preview pre")).to_have_text("# deep")
    person.get_by_role("searchbox").fill("[no]*such")
    expect(person.locator("#state")).to_contain_text("No name below")


def test_files_go_up_and_a_name_that_is_taken_is_asked_about(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled)
    choose = person.locator("#chosen")
    choose.set_input_files({"name": "up.txt", "mimeType": "text/plain", "buffer": b"first"})
    expect(person.locator("#uploads")).to_contain_text("up.txt is uploaded.")
    expect(names(person).filter(has_text="up.txt")).to_be_visible()
    for answer, content, second in (("Skip", "first", None), ("Keep both", "first", "second"), ("Replace", "second", "second")):
        choose.set_input_files({"name": "up.txt", "mimeType": "text/plain", "buffer": b"second"})
        expect(person.locator("#question h2")).to_have_text("“up.txt” is there already")
        person.locator("#question").get_by_role("button", name=answer).click()
        expect(person.locator("#question")).to_be_hidden()
        until(partial(holds, sandbox, {f"{filled}/up.txt": content, f"{filled}/up (1).txt": second}))


def test_a_file_is_dropped_on_the_page(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled)
    transfer = person.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['dropped'], 'dropped.txt')); return data; }"
    )
    person.dispatch_event("main", "dragover", {"dataTransfer": transfer})
    expect(person.locator("main")).to_have_attribute("data-drop", "Drop files to upload them to this folder")
    person.dispatch_event("main", "drop", {"dataTransfer": transfer})
    expect(names(person).filter(has_text="dropped.txt")).to_be_visible()
    until(partial(holds, sandbox, {f"{filled}/dropped.txt": "dropped"}))


def test_a_file_comes_down_as_it_is(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled)
    items = menu(person, "notes.txt")
    with person.expect_download() as download:
        items.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "notes.txt"
    assert Path(download.value.path()).read_text("utf-8") == "one\ntwo <b>bold</b>\n"


def test_a_person_makes_renames_and_deletes_and_the_agent_stays_at_work(person: Page, sandbox: Sandbox, filled: str) -> None:
    show(person, sandbox, filled)
    person.get_by_role("button", name="New folder").click()
    person.get_by_label("Name of the folder").fill("a/b")
    person.locator("#question").get_by_role("button", name="Create").click()
    expect(person.locator("#question")).to_be_visible()
    person.get_by_label("Name of the folder").fill("fresh")
    person.keyboard.press("Enter")
    expect(names(person).filter(has_text="fresh")).to_be_visible()

    menu(person, "notes.txt").get_by_role("button", name="Rename").click()
    person.get_by_label("New name").fill("page.svg")
    person.keyboard.press("Enter")
    expect(person.locator(".notice")).to_contain_text("There is already something of that name.")
    menu(person, "notes.txt").get_by_role("button", name="Rename").click()
    person.get_by_label("New name").fill("words.txt")
    person.keyboard.press("Enter")
    expect(names(person).filter(has_text="words.txt")).to_be_visible()
    assert content_of(sandbox, f"{filled}/words.txt") == "one\ntwo <b>bold</b>\n"

    menu(person, "sub").get_by_role("button", name="Delete").click()
    expect(person.locator("#question p")).to_contain_text("checkpoint that was made before brings it back")
    person.locator("#question").get_by_role("button", name="Cancel").click()
    expect(names(person).filter(has_text=re.compile("^sub$"))).to_be_visible()
    menu(person, "sub").get_by_role("button", name="Delete").click()
    person.locator("#question").get_by_role("button", name="Delete").click()
    expect(names(person).filter(has_text=re.compile("^sub$"))).to_have_count(0)
    assert sandbox.run("ls", filled).stdout.split() == ["fresh", "page.svg", "pixel.png", "shortcut", "words.txt"]
    assert sandbox.request("GET", "/v1/control").json()["data"]["state"] == "agent"


def test_what_cannot_be_done_is_told_in_words(person: Page, sandbox: Sandbox) -> None:
    show(person, sandbox, "/no/such/folder")
    expect(person.locator("#state")).to_have_text("That did not work. It is not there any more.")
    show(person, sandbox, "/etc")
    person.locator("#chosen").set_input_files({"name": "up.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(person.locator("#uploads")).to_contain_text(re.compile(r"up\.txt was not uploaded\. The agent.s user may not do that here"))
    show(person, sandbox, "/etc", "shadow")
    expect(person.locator("#preview-note")).to_contain_text("That did not work.")


def test_ten_thousand_files_are_drawn_a_part_at_a_time(person: Page, sandbox: Sandbox, folder: str) -> None:
    assert sandbox.run("python3", "-c", f"[open('{folder}/f%05d' % n, 'w').close() for n in range(10_600)]").code == 0
    show(person, sandbox, folder)
    expect(person.locator("#state")).to_have_text("Folders: 0 · Files: 10600")
    expect(names(person)).to_have_count(500)
    person.get_by_role("button", name="Show more (10100 left)").click()
    expect(names(person)).to_have_count(1000)
    expect(names(person).last).to_have_text("f00999")


def test_a_phone_scrolls_the_list_and_the_preview_down_only(phone: Page, sandbox: Sandbox, filled: str) -> None:
    write(sandbox, f"{filled}/{'long-name-' * 20}.txt", "word " * 400 + "x" * 2000)
    show(phone, sandbox, filled)
    expect(phone.locator("tr", has_text="notes.txt").locator(".both")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    phone.get_by_role("link", name="long-name-").click()
    expect(phone.locator("#preview pre")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    menu(phone, "notes.txt").get_by_role("link", name="Open").click()
    expect(phone.locator("#preview pre")).to_contain_text("two")


def test_a_guest_without_the_files_sees_no_link_and_is_told_why(browser: Browser, sandbox: Sandbox) -> None:
    ticket = sandbox.request("POST", "/tickets", json={"actor": "person", "scopes": ["view"]}).json()["ticket"]
    with browser.new_context(**DESKTOP, locale="en-US") as context:
        page = context.new_page()
        page.goto(f"{sandbox.base_url}/v1/docs?ticket={ticket}")
        expect(page.locator("#navigation a").first).to_be_attached()
        expect(page.locator("#navigation a", has_text="Files")).to_have_count(0)
        page.goto(f"{sandbox.base_url}/files")
        expect(page.get_by_text("Your sign-in does not include the files.")).to_be_visible()
