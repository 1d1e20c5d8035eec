"""How far pages are scrolled and what is filled in, read of real pages and put back."""

from typing import Any
from urllib.parse import quote

import pytest

from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.devtools.page_state import PageStates
from sandbox_server.drivers.forks.fork_state import KeptState, KeptTab
from tests.drivers.devtools.conftest import Tab

pytestmark = pytest.mark.anyio
FORM = """<title>{title}</title><body style="height: 5000px"><form><div><input id=name><textarea id=text></textarea></div>
<input type=checkbox id=yes><input type=radio name=r id=one checked><input type=radio name=r id=two>
<select id=choice><option>a<option>b</select><select id=many multiple><option>a<option>b<option>c</select>
<input type=password id=word><input id=otp name=one-time-code><input id=card autocomplete=cc-number>
<label>Secret <input id=labelled></label>
<input id=masked style="-webkit-text-security: disc"><input type=hidden id=hidden value=h><input id=left value=same></form>{more}"""
FILL = """for (const [id, value] of Object.entries({name: 'Mia', text: 'two\\nlines', word: 'p', otp: '1', card: '4', labelled: 's',
masked: 'm', hidden: 'changed'})) document.getElementById(id).value = value;
document.getElementById('yes').checked = document.getElementById('two').checked = true;
document.getElementById('choice').selectedIndex = 1; document.getElementById('many').options[2].selected = true; scrollTo(0, 1234)"""
READ = """[...['name', 'text', 'word', 'otp', 'card', 'labelled', 'masked', 'hidden'].map((id) => document.getElementById(id).value),
...['yes', 'one', 'two'].map((id) => document.getElementById(id).checked), document.getElementById('choice').selectedIndex,
document.getElementById('many').options[2].selected, scrollY]"""
FILLED = ["Mia", "two\nlines", "", "", "", "", "", "h", True, False, True, 1, True, 1234]
CLOBBERED = "<form><input name=parentElement><input name=children><div><input id=inner></div></form>"


def page(title: str, more: str = "") -> str:
    return "data:text/html," + quote(FORM.format(title=title, more=more))


def masked(text: str) -> str:
    return text.replace("hunter2", "***")


async def kept(owner: BrowserClient, title: str) -> KeptTab:
    [found] = [each for each in await PageStates(owner, masked).read() if each.title == title]
    [again] = KeptState.loads(KeptState(tabs=(found,)).dumps()).tabs
    assert again == found
    return found


async def test_fields_and_scroll_come_back_and_no_secret_is_among_them(tab: Tab, owner: BrowserClient) -> None:
    tab.go(page("state"))
    tab.run(FILL)
    found = await kept(owner, "state")
    assert (len(found.fields), found.y) == (7, 1234)
    assert not {"p", "1", "4", "s", "m", "changed"} & {each.value for each in found.fields}
    tab.go("about:blank")
    tab.go(page("state"))
    tab.run("addEventListener('change', ({target}) => { document.title += target.id; })")
    await PageStates(owner, masked).write((found,))
    assert tab.run(READ) == FILLED
    assert "nametext" in tab.run("document.title")


async def test_nothing_is_put_into_a_page_of_another_address(tab: Tab, owner: BrowserClient) -> None:
    tab.go(page("one"))
    tab.run(FILL)
    found = await kept(owner, "one")
    tab.go(page("other"))
    await PageStates(owner, masked).write((found,))
    assert tab.run(READ)[0] == ""


async def test_values_and_addresses_with_a_secret_are_left_out(tab: Tab, owner: BrowserClient) -> None:
    tab.go(page("secrets") + "#hunter2")
    tab.run("document.getElementById('name').value = 'hunter2'")
    found = await kept(owner, "secrets")
    assert (found.fields, found.url) == ((), page("secrets"))


async def test_a_page_that_hides_what_forms_are_is_read_all_the_same(tab: Tab, owner: BrowserClient) -> None:
    tab.go(page("clobbered", CLOBBERED))
    tab.run("document.getElementById('inner').value = 'x'")
    [field] = (await kept(owner, "clobbered")).fields
    assert tab.run(f"document.querySelector('{field.path}').id") == "inner"


@pytest.mark.parametrize("more", ["<div>" * 400 + "<input class=new>", "<br>" * 5001 + "<input class=new>", "<img name=querySelectorAll>"])
async def test_a_page_that_is_too_deep_or_too_wide_or_breaks_it_keeps_no_fields(tab: Tab, owner: BrowserClient, more: str) -> None:
    tab.go("about:blank")
    tab.run(f"document.title = 'odd'; document.body.innerHTML = {more!r}")
    tab.run("for (const field of document.getElementsByClassName('new')) field.value = 'x'")
    assert (await kept(owner, "odd")).fields == ()


async def test_a_page_stuck_in_a_script_is_kept_by_its_address(tab: Tab, owner: BrowserClient) -> None:
    tab.go(page("stuck"))
    tab.post("Runtime.evaluate", expression="const end = Date.now() + 4000; while (Date.now() < end);")
    found = await kept(owner, "stuck")
    assert (found.url, found.fields) == (page("stuck"), ())


async def test_where_no_browser_answers_a_tab_that_is_gone_is_nothing(tab: Tab, owner: BrowserClient) -> None:
    missing: Any = KeptTab("https://gone.example/", y=7.0)
    tab.go(page("here"))
    await PageStates(owner, masked).write((missing,))
    assert tab.run("scrollY") == 0
