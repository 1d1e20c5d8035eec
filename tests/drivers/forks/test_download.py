"""A download that is cut, lied to, redirected and left waiting."""

import hashlib
import io
import os
import time
from pathlib import Path

import pytest

from sandbox_server.drivers.forks import download
from sandbox_server.drivers.forks.download import TRIES, DownloadError, ForkDownload, ForkSource
from tests.download_server import DownloadServer, serving

CONTENT = os.urandom(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def got(place: str, *, digest: str = DIGEST, limit: int = 1 << 20, seconds: float = 20.0, authorization: str = "") -> bytes:
    out = io.BytesIO()
    wanted = ForkDownload(ForkSource(place, digest), out, limit=limit, deadline=time.monotonic() + seconds, authorization=authorization)
    wanted.run(pause=lambda _: None)
    assert out.tell() == 0
    return out.getvalue()


def test_one_that_is_cut_again_and_again_goes_on_where_it_ended() -> None:
    with serving(DownloadServer(CONTENT, cut_after=40_000)) as server:
        assert got(server.url(), authorization="Bearer x") == CONTENT
    ranges = [asked.get("range") for asked in server.asked]
    assert ranges == [None, *(f"bytes={n * 40_000}-" for n in range(1, 8))]
    assert {asked["authorization"] for asked in server.asked} == {"Bearer x"}


def test_one_begins_anew_where_the_server_knows_no_ranges_or_has_another_file_by_then() -> None:
    with serving(DownloadServer(CONTENT, cut_after=40_000, cuts=2, ranges=False)) as server:
        assert got(server.url()) == CONTENT
    with serving(DownloadServer(b"old" * 50_000, cut_after=40_000, cuts=1, then=CONTENT)) as server:
        assert got(server.url()) == CONTENT


def test_a_server_that_goes_on_with_another_file_is_not_believed() -> None:
    with serving(DownloadServer(CONTENT, cut_after=40_000, cuts=1, lies=True)) as server:
        assert got(server.url()) == CONTENT
    assert [bool(asked.get("range")) for asked in server.asked] == [False, True, False]


def test_what_fails_for_a_time_is_tried_again_and_no_further() -> None:
    with serving(DownloadServer(CONTENT, status=503, failures=3)) as server:
        assert got(server.url()) == CONTENT
    with (
        serving(DownloadServer(CONTENT, status=503)) as server,
        pytest.raises(DownloadError, match="8 times in a row: the server answers 503"),
    ):
        got(server.url())
    assert len(server.asked) == TRIES


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (DownloadServer(CONTENT, status=302, location="http://elsewhere/?key=x"), "redirects to elsewhere: give"),
        (DownloadServer(CONTENT, status=307, location="http://[x"), "redirects to no address"),
        (DownloadServer(CONTENT, status=401), "the server answers 401"),
        (DownloadServer(CONTENT, status=206), "the server answers 206"),
        (DownloadServer(CONTENT + b"x"), "its SHA-256 is"),
        (DownloadServer(b""), "its SHA-256 is"),
        (DownloadServer(b"x" * (1 << 21)), "at most 1048576 are taken"),
    ],
)
def test_what_cannot_be_is_refused_at_once_with_the_reason(server: DownloadServer, reason: str) -> None:
    with serving(server), pytest.raises(DownloadError, match=reason) as raised:
        got(server.url())
    assert len(server.asked) == 1
    assert "signature" not in str(raised.value)
    assert "key=x" not in str(raised.value)


def test_a_server_that_hangs_or_sends_a_byte_at_a_time_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "SILENCE_SECONDS", 0.1)
    with serving(DownloadServer(CONTENT, hangs=True)) as server, pytest.raises(DownloadError, match=r"times in a row|not there in time"):
        got(server.url(), seconds=0.5)
    with serving(DownloadServer(CONTENT, trickles=True)) as server, pytest.raises(DownloadError, match="it was not there in time"):
        got(server.url(), seconds=0.3)


def test_nobody_who_listens_is_told() -> None:
    with serving(DownloadServer(CONTENT)) as server:
        url = server.url()
    with pytest.raises(DownloadError, match=r"it cannot be had, 8 times in a row: .*refused"):
        got(url)


def test_a_file_of_this_machine_is_read_and_checked(tmp_path: Path) -> None:
    (tmp_path / "fork.tar").write_bytes(CONTENT)
    assert got(f"{tmp_path}/fork.tar") == CONTENT
    with pytest.raises(DownloadError, match="its SHA-256 is"):
        got(f"{tmp_path}/fork.tar", digest="0" * 64)
    with pytest.raises(DownloadError, match="more than 1000 bytes"):
        got(f"{tmp_path}/fork.tar", limit=1000)


def test_what_is_no_file_is_no_fork(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (f"{tmp_path}/pipe", str(tmp_path), f"{tmp_path}/none", "/dev/zero"):
        with pytest.raises(DownloadError, match="it cannot be read"):
            got(place)


def test_what_is_shown_of_a_place_holds_no_credential() -> None:
    assert ForkSource("https://user:word@a.example:8443/x?sig=1", DIGEST).shown == "https://a.example:8443/x"
    assert ForkSource("/a/b", DIGEST).shown == "/a/b"
