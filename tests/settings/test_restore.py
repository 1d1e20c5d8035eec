"""What a sandbox starts from."""

import pytest

from sandbox_server.settings import BadSettings, load
from tests.tables import table_test

DIGEST = "0123456789abcdef" * 4


def test_a_place_is_read_with_its_digest_and_is_a_secret() -> None:
    for place in ("https://a.example/x?sig=1", "http://[::1]:8080/v1/forks/1", "/forks/a.tar", "https://a.example/x#y"):
        found = load({"SANDBOX_RESTORE": f"{place}#sha256={DIGEST}"}).restore
        assert (found.place, found.sha256) == (place, DIGEST)
        assert "sig" not in repr(found)
    nothing = load({}).restore
    assert (nothing.source, nothing.place, nothing.sha256) == (None, "", "")


@table_test(
    [
        "https://a.example/x",
        "https://a.example/x#sha256=",
        f"https://a.example/x#sha256={DIGEST.upper()}",
        f"https://a.example/x#sha256={DIGEST}0",
        f"https://a.example/x#md5={DIGEST}",
        f"#sha256={DIGEST}",
        f"ftp://a.example/x#sha256={DIGEST}",
        f"https:///x#sha256={DIGEST}",
        f"https://user:word@a.example/x#sha256={DIGEST}",
        f"https://a.example:0/x#sha256={DIGEST}",
        f"https://a.example:99999/x#sha256={DIGEST}",
        f"https://a.example/x y#sha256={DIGEST}",
        f"https://a.example/\r\nHost: b#sha256={DIGEST}",
        f"https://bücher.example/#sha256={DIGEST}",
        f"forks/a.tar#sha256={DIGEST}",
        f"/forks/../etc/a.tar#sha256={DIGEST}",
    ]
)
def test_what_is_no_place_names_the_variable_and_not_its_value(text: str) -> None:
    with pytest.raises(BadSettings, match="SANDBOX_RESTORE must") as raised:
        load({"SANDBOX_RESTORE": text})
    assert "a.example" not in str(raised.value)


def test_a_header_is_one_line() -> None:
    found = load({"SANDBOX_RESTORE_AUTHORIZATION": "Bearer x"}).restore.authorization
    assert found is not None
    assert found.reveal() == "Bearer x"
    with pytest.raises(BadSettings, match="SANDBOX_RESTORE_AUTHORIZATION must"):
        load({"SANDBOX_RESTORE_AUTHORIZATION": "Bearer x\nHost: b"})
