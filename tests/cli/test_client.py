import http.client
import io
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cli.client import Api, failure
from sandbox_server.cli.stop import Stop
from tests.cli.conftest import KEY
from tests.patience import PATIENCE_SECONDS


class Wire:
    """A socket from which an answer is read."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)


def response(status: int, body: bytes) -> http.client.HTTPResponse:
    found = http.client.HTTPResponse(Wire(b"HTTP/1.1 %d Reason\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)))  # type: ignore[arg-type]
    found.begin()
    return found


def test_a_request_is_signed_and_says_what_it_comes_from(url: str, sample: Any) -> None:
    api = Api(url, KEY, 5)
    answer = api.send("POST", "/v1/sample/add", b'{"left": 1}', {"Content-Type": "application/json"})

    assert (answer.status, answer.read()[:15]) == (200, b'{"success":true')
    assert sample.calls[-1].surface == "cli"
    api.close()


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://host", "http://"])
def test_what_is_no_url_is_a_wrong_command_line(url: str) -> None:
    with pytest.raises(Stop) as stopped:
        Api(url, None, None)

    assert stopped.value.code == 2


def test_nobody_who_answers_is_unreachable() -> None:
    with pytest.raises(Stop) as stopped:
        Api("http://127.0.0.1:1", None, 5).send("GET", "/")

    assert stopped.value.code == 3


@pytest.mark.parametrize(
    ("status", "body", "code", "sentence"),
    [
        (404, b'{"success": false, "message": "no", "data": null, "hint": "look"}', 1, "no\nlook"),
        (422, b'{"detail": [{"loc": ["body", "a", 0], "msg": "bad", "type": "x"}]}', 2, "--a.0: bad"),
        (503, b'{"success": false, "message": "starting", "hint": null}', 1, "starting"),
        (502, b"<html>", 3, "502 Reason"),
        (413, b"<html>", 1, "413 Reason"),
    ],
)
def test_a_refusal_ends_with_its_code_and_sentence(status: int, body: bytes, code: int, sentence: str) -> None:
    stop = failure(response(status, body))

    assert (stop.code, stop.sentence) == (code, sentence)


def test_who_may_enter_the_gateways_socket_goes_through_it(tmp_path: Path) -> None:
    path = str(tmp_path / "public.sock")
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as aside:
        listener.bind(path)
        listener.listen()

        def answer() -> bytes:
            connection, _ = listener.accept()
            with connection:
                asked = connection.recv(65536)
                connection.sendall(b"HTTP/1.1 204 Here\r\n\r\n")
            return asked

        asked = aside.submit(answer)
        api = Api("http://127.0.0.1:1", KEY, 5, path)
        assert api.send("GET", "/v1/control").status == 204
        assert asked.result(PATIENCE_SECONDS).startswith(b"GET /v1/control HTTP/1.1\r\nHost: localhost\r\n")
        api.close()


def test_who_may_not_goes_over_the_network(url: str, tmp_path: Path) -> None:
    api = Api(url, KEY, 5, str(tmp_path / "none"))
    assert api.send("POST", "/v1/sample/add", b'{"left": 1}', {"Content-Type": "application/json"}).status == 200
    api.close()
