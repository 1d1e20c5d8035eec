import httpx
import pytest
from tandem import notebook
from tandem.wire import Place


def shown(monkeypatch: pytest.MonkeyPatch, answer: httpx.Response, url: str = "http://box") -> str:
    client = httpx.Client
    ticket = httpx.Response(200, json={"ticket": 't"<'})
    transport = httpx.MockTransport(lambda request: ticket if request.url.path == "/tickets" else answer)
    monkeypatch.setattr(httpx, "Client", lambda **more: client(**more, transport=transport))
    return notebook.screen_html(Place(url, "k"))


def test_a_picture_leads_to_the_live_page_and_nothing_breaks_out_of_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    html = shown(monkeypatch, httpx.Response(200, content=b"png"))
    assert 'href="http://box/view?ticket=t&quot;&lt;"' in html
    assert "data:image/png;base64,cG5n" in html


def test_where_there_is_no_screen_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    html = shown(monkeypatch, httpx.Response(503), "http://box/<script>")
    assert html.startswith("<p>http://box/&lt;script&gt; shows no screen: ")
    assert "<script>" not in html
