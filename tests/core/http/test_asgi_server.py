import asyncio
import http.client
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

from sandbox_server.core.http import asgi_server
from tests.patience import PATIENCE_SECONDS, until

SERVE = """
import sys
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.http import create_app
from sandbox_server.core.http.asgi_server import serve_on
serve_on(sys.argv[1], create_app([], Dispatcher([])))
"""


def test_the_server_answers_on_its_socket_without_a_server_header_and_ends_when_told(tmp_path: Path) -> None:
    path = f"{tmp_path}/api.sock"
    process = subprocess.Popen([sys.executable, "-c", SERVE, path], env={**os.environ, "PYTHONPATH": os.getcwd()})
    try:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        until(lambda: connection.sock.connect_ex(path) == 0)  # it is there a moment before it listens
        connection.request("GET", "/nothing")
        response = connection.getresponse()
        assert (response.status, response.getheader("server")) == (404, None)
        connection.close()
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) in (0, -15)


def test_a_socket_that_was_answered_with_a_refusal_is_no_error_in_the_log() -> None:
    told = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "ASGI callable returned without completing handshake.", (), None)
    other = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception in ASGI application\n", (), None)
    assert (asgi_server.is_news(told), asgi_server.is_news(other)) == (False, True)


def test_a_request_that_the_servers_end_cut_off_is_no_error_in_the_log() -> None:
    def told(error: BaseException) -> logging.LogRecord:
        return logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception in ASGI application\n", (), (type(error), error, None))

    assert (asgi_server.is_news(told(asyncio.CancelledError())), asgi_server.is_news(told(ValueError()))) == (False, True)
