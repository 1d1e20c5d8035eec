"""The browser's variables."""

import pytest

from sandbox_server.settings import BadSettings, Settings, load


def browser(**environ: str) -> object:
    return load({f"BROWSER_{name}": value for name, value in environ.items()}).browser


def test_the_defaults_start_a_sandboxed_browser_at_once() -> None:
    settings = Settings().browser
    assert (settings.start, settings.no_sandbox, settings.file_dialogs) == ("eager", False, None)


def test_lists_are_parted_by_commas_and_blanks() -> None:
    listed = load({"BROWSER_URL_BLOCKLIST": "a.example, b.example\nc.example"}).browser.blocked_urls
    assert listed == ("a.example", "b.example", "c.example")


def test_arguments_are_quoted_as_in_a_shell() -> None:
    assert load({"BROWSER_EXTRA_ARGS": "--a '--b=c d'"}).browser.extra_arguments == ("--a", "--b=c d")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EXTRA_ARGS", "--no-sandbox"),
        ("EXTRA_ARGS", "--remote-debugging-port=9222"),
        ("EXTRA_ARGS", "'unfinished"),
        ("START", "sometimes"),
        ("INIT_COOKIES", "a=b"),
        ("INIT_COOKIES", '[{"name": "a"}]'),
        ("DOWNLOAD_DIR", "relative"),
        ("PROFILE", "../mail"),
    ],
)
def test_a_bad_value_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=f"BROWSER_{name}"):
        browser(**{name: value})


def test_cookies_are_a_list_of_objects() -> None:
    cookie = {"name": "a", "value": "b", "url": "https://a.example/"}
    assert load({"BROWSER_INIT_COOKIES": f"[{str(cookie).replace(chr(39), chr(34))}]"}).browser.cookies == (cookie,)
