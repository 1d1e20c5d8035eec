"""What people see in place of a sandbox."""

import base64
import hashlib
import re

import pytest
from tandem_fleet.gateway.pages import POLICY, Pages
from tandem_fleet.sandboxes import State


def pages(language: str) -> list[str]:
    """One of each kind."""
    words = Pages.of(language)
    return [
        words.waking("work", State.PAUSED),
        words.failed("work", "why"),
        *(words.refused(one) for one in ("sign_in", "no_pages", "unclear", "missing", "unavailable")),
    ]


@pytest.mark.parametrize("language", ["", "en", "zh-CN,zh;q=0.9", "*", "de"])
def test_a_page_holds_all_that_it_needs_and_runs_nothing_else(language: str) -> None:
    allowed = set(re.findall(r"'sha256-([^']+)'", POLICY))
    assert "unsafe" not in POLICY
    for page in pages(language):
        assert not re.search(r'(?:src|href)=|\bon\w+="|style="|url\(|@import|https?:', page)
        for kind, text in re.findall(r"<(style|script)>(.*?)</\1>", page, re.DOTALL):
            assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in allowed, kind


def test_it_speaks_the_browsers_language() -> None:
    assert 'lang="zh"' in pages("zh-CN")[0]
    assert 'lang="en"' in pages("de")[0]
    assert all(state in Pages.of("zh").words for state in State if state in Pages.of("en").words)
    assert Pages.of("zh").words.keys() == Pages.of("en").words.keys()


@pytest.mark.parametrize("text", ["<script>x</script>", '"><img src=x>', "{0}{words}", "&lt;", "</title>"])
def test_words_of_others_are_text(text: str) -> None:
    page = Pages.of("").failed(text, text)
    assert page.count("<script") == 0
    assert "<img" not in page
    assert page.count("</title>") == 1
