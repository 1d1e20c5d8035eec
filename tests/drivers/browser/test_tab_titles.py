import pytest

from sandbox_server.drivers.browser.tab_titles import made_of


@pytest.mark.parametrize(
    ("title", "url"),
    [
        ("127.0.0.1:8765/page", "http://127.0.0.1:8765/page"),
        ("example.com", "https://example.com/"),
        ("a b.html", "file:///srv/a%20b.html"),
        ("m\u00fcnchen.de", "http://xn--mnchen-3ya.de/"),
        ("data:text/html,", "data:text/html,"),
        ("example.com/a\u2026", "https://example.com/abc"),
        ("", "about:blank"),
    ],
)
def test_a_title_that_the_browser_made_of_the_address_is_told(title: str, url: str) -> None:
    assert made_of(title, url)


def test_a_title_of_the_pages_own_is_told_from_its_address() -> None:
    assert not made_of("Example Domain", "https://example.com/")
