import json
from urllib.parse import quote

from tests.image.sdk.calls import Calls, a_path, drives
from tests.patience import eventually

FORM = """<title>Form</title><body style="height: 5000px"><input id=name><input id=agree type=checkbox><input id=file type=file>
<select id=colour><option value=r>Red</option><option value=g>Green</option></select>
<button onclick="document.title = 'pressed'">Press</button>
<p id=low style="position: absolute; top: 4000px">far below</p>"""
PAGE = f"data:text/html,{quote(FORM)}"


async def value(calls: Calls, expression: str) -> object:
    return (await calls("browser_page.evaluate", expression=expression)).data


@drives("browser_page.navigate", "browser_page.back", "browser_page.forward", "browser_page.reload", "browser_page.evaluate")
async def navigation(calls: Calls) -> None:
    landed = (await calls("browser_page.navigate", url=PAGE, wait_until="domcontentloaded", timeout=30)).data
    await calls("browser_page.navigate", url="data:text/html,<title>Next</title>")
    assert landed["title"] == "Form"
    for name, title in (("back", "Form"), ("forward", "Next"), ("reload", "Next")):
        assert (await calls(f"browser_page.{name}")).success
        assert await value(calls, "document.title") == title
    assert (await calls.fails("browser_page.navigate", url="http://")).status_code == 400


@drives("browser_page.click", "browser_page.hover", "browser_page.type_text", "browser_page.press_key", "browser_page.hot_key")
async def hands(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    await calls("browser_page.hover", selector="button")
    await calls("browser_page.click", selector="#name")
    await calls("browser_page.type_text", text="Grüße 世界", delay=1)
    typed = await value(calls, "document.querySelector('#name').value")
    await calls("browser_page.hot_key", keys=["ctrl", "a"])
    await calls("browser_page.press_key", key="Backspace")
    await calls("browser_page.click", selector="button", button="left", click_count=1)

    assert typed == "Grüße 世界"
    assert await value(calls, "[document.querySelector('#name').value, document.title]") == ["", "pressed"]
    assert (await calls.fails("browser_page.press_key", key="nokey")).status_code == 422


@drives("browser_page.scroll", "browser_page.scroll_to", "browser_page.scroll_to_element")
async def scrolling(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    await calls("browser_page.scroll", direction="down", amount=200)
    down = await value(calls, "scrollY")
    await calls("browser_page.scroll_to", x=0, y=50)
    at = await value(calls, "scrollY")
    await calls("browser_page.scroll_to_element", selector="#low")

    assert (down, at) == (200, 50)
    assert await value(calls, "scrollY > 2000")


@drives("browser_page.fill", "browser_page.fill_form", "browser_page.select_option", "browser_page.check", "browser_page.uncheck")
async def form(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    await calls("browser_page.fill", selector="#name", text="one")
    await calls("browser_page.check", selector="#agree")
    ticked = await value(calls, "agree.checked")
    await calls("browser_page.uncheck", selector="#agree")
    await calls("browser_page.select_option", selector="#colour", value="g")
    seen = await value(calls, "[document.querySelector('#name').value, agree.checked, colour.value]")
    await calls("browser_page.fill_form", items=[{"selector": "#name", "value": "two"}, {"selector": "#agree", "value": True}])

    assert (ticked, seen) == (True, ["one", False, "g"])
    assert await value(calls, "[document.querySelector('#name').value, agree.checked]") == ["two", True]


@drives("browser_page.upload_file")
async def upload(calls: Calls) -> None:
    path = a_path("notes.txt")
    await calls("file.write_file", file=path, content="from the agent")
    await calls("browser_page.navigate", url=PAGE)
    await calls("browser_page.upload_file", selector="#file", files=[path])

    assert await value(calls, "file.files[0].text()") == "from the agent"


@drives("browser_page.screenshot", "browser_page.get_html", "browser_page.get_text", "browser_page.get_markdown", "browser_page.find_text")
async def reading(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    assert (await calls("browser_page.screenshot", full_page=True)).startswith(b"\x89PNG")
    assert (await calls("browser_page.screenshot", format="jpeg", quality=50)).startswith(b"\xff\xd8")
    assert "<title>Form</title>" in (await calls("browser_page.get_html", outer=True)).data
    assert "far below" in (await calls("browser_page.get_text")).data
    assert "far below" in (await calls("browser_page.get_markdown")).data["content"]
    assert (await calls("browser_page.find_text", keyword="FAR")).data[0]["text"] == "far below"


@drives("browser_page.get_elements")
async def elements(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    button = next(found for found in (await calls("browser_page.get_elements")).data if found["tag"] == "button")
    await calls("browser_page.click", index=button["index"])
    pressed = await value(calls, "document.title")
    await calls("browser_page.evaluate", expression="document.querySelector('button').remove()")

    assert (button["name"], pressed) == ("Press", "pressed")
    assert (await calls.fails("browser_page.click", index=button["index"])).status_code == 409


@drives("browser_page.wait")
async def waiting(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    for wanted in ({"type": "selector", "selector": "button"}, {"type": "load"}, {"type": "function", "expression": "1"}):
        assert (await calls("browser_page.wait", **wanted)).success
    assert (await calls.fails("browser_page.wait", type="selector", selector="#nothing", timeout=0.2)).status_code == 409


@drives("browser_page.get_console", "browser_page.export_console")
async def console(calls: Calls) -> None:
    path = a_path("console.json")
    await calls("browser_page.get_console", clear=True)
    await calls("browser_page.evaluate", expression="console.log('from the sdk')")

    async def seen() -> bool:  # it is told behind the script's end
        return "from the sdk" in json.dumps((await calls("browser_page.get_console")).data)

    await eventually(seen)
    await calls("browser_page.export_console", save_path=path)

    assert "from the sdk" in (await calls("file.read_file", file=path)).data.content


@drives("browser_page.record")
async def record(calls: Calls) -> None:
    path = a_path("recording.mp4")
    await calls("browser_page.navigate", url=PAGE)
    await calls("browser_page.record", action="once", save_path=path, duration=1, fps=5, quality=50)

    assert (await calls("browser_page.record", action="status")).success
    assert (await calls("bash.exec", command=f"test -s {path}")).data.exit_code == 0
