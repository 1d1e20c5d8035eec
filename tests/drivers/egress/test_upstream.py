import pytest

from sandbox_server.drivers.egress.upstream import Upstream, parse_upstream


@pytest.mark.parametrize(
    ("url", "upstream"),
    [
        ("http://proxy.example", Upstream("http", "proxy.example", 3128)),
        ("https://proxy.example", Upstream("https", "proxy.example", 443)),
        ("socks5://10.0.0.1:9050", Upstream("socks5", "10.0.0.1", 9050)),
        ("socks5://u%40x:p%3Aw@[fd00::1]:1080/", Upstream("socks5", "fd00::1", 1080, "u@x", "p:w")),
    ],
)
def test_a_url_names_a_proxy(url: str, upstream: Upstream) -> None:
    assert parse_upstream(url) == upstream


@pytest.mark.parametrize(
    "url",
    [
        "",
        "proxy",
        "ftp://a",
        "http://",
        "http://a:99999",
        "http://a/path",
        "http://a b",
        "socks5://u:" + "p" * 256 + "@a",
        "http://a%3Ab:p@h",
        "http://a:%0d%0ax@h",
    ],
)
def test_what_names_none_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|begin|port|bytes|host name|colon") as refused:
        parse_upstream(url)
    assert "ppp" not in str(refused.value)


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(parse_upstream("http://user:secret@proxy.example"))
