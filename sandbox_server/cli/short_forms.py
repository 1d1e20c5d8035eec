"""Short forms: what people do most, in one word: `sandbox exec ls`, `ask`, `access`, `checkpoint`, `undo`, `doctor`."""

import http.client
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.cli import output, request
from sandbox_server.cli.client import Api, failure, sentence
from sandbox_server.cli.document import DocumentedOperation
from sandbox_server.cli.stop import FAILED, USAGE, Stop
from sandbox_server.cli.times import shown

ASK_SECONDS = 3600
"""How long a question waits for a person."""
ACCESS_SECONDS = 600
"""How long a request for access does."""


@dataclass(frozen=True)
class ShortForms:
    """The short forms, on the operations of the API that they stand for."""

    api: Api
    operations: Sequence[DocumentedOperation]
    human: bool

    def run(self, form: str, words: Sequence[str]) -> None:
        """Run one by its name, with the words behind it. Raises Stop."""
        act, usage = FORMS[form]
        if words in (["--help"], ["-h"]):
            output.line(f"usage: sandbox {usage}")
        else:
            act(self, list(words))

    def execute(self, words: list[str]) -> None:
        """Run a command, pass its output on as it comes, and end with its exit code."""
        if not words:
            raise Stop(USAGE, f"usage: sandbox {FORMS['exec'][1]}")
        command = words[0] if len(words) == 1 else shlex.join(words)
        response = self._send("bash", "exec", {"command": command}, accept="text/event-stream")
        code = FAILED
        for event, data in _events(response):
            if event == "output":
                stream = sys.stderr if data["stream"] == "stderr" else sys.stdout
                stream.write(data["data"])
                stream.flush()
            elif event == "exit":
                code = data["exit_code"] if data["exit_code"] is not None else FAILED
        if code:
            raise Stop(code, "")

    def ask(self, words: list[str]) -> None:
        """Ask a person, and wait. Words behind the question are what the person chooses from."""
        if not words or not words[0].strip():
            raise Stop(USAGE, f"usage: sandbox {FORMS['ask'][1]}")
        choices = {"kind": "choice", "choices": words[1:]} if words[1:] else {}
        self._tell("waiting for a person to answer on /view")
        self._write("handoffs", "request_human", {"reason": words[0], "wait": ASK_SECONDS, **choices})

    def access(self, words: list[str]) -> None:
        """Ask a person to let programs reach a host, and wait. Without a port it is 443."""
        if len(words) < 2 or not all(word.strip() for word in words[:2]):
            raise Stop(USAGE, f"usage: sandbox {FORMS['access'][1]}")
        host, port = _place(words[0])
        self._tell("waiting for a person to answer")
        given = {"host": host, "reason": " ".join(words[1:]), "wait": ACCESS_SECONDS, **({"port": port} if port else {})}
        answered = self._data("egress", "request_access", given)
        output.line(_access(answered))
        if answered["status"] != "allowed":
            raise Stop(FAILED, "")

    def checkpoint(self, words: list[str]) -> None:
        """Keep the state of the files."""
        self._write("checkpoints", "create_checkpoint", {"label": " ".join(words)})

    def undo(self, words: list[str]) -> None:
        """Go back to the last checkpoint, or to the one that is named."""
        kept = self._data("checkpoints", "list_checkpoints", {})
        wanted = words[0] if words else kept["head"]
        found = next((each for each in kept["checkpoints"] if each["id"] == wanted), None)
        if found is None:
            raise Stop(
                USAGE, f"there is no checkpoint {wanted}" if words else "there is no checkpoint yet; make one with `sandbox checkpoint`"
            )
        made = shown("created", found["created"])
        self._tell(f"going back to {found['id']} {found['label']!r} of {made}; every program in the box stops")
        self._write("checkpoints", "restore_checkpoint", {"checkpoint_id": found["id"]})

    def doctor(self, _: list[str]) -> None:
        """Check which protections hold."""
        self._write("doctor", "doctor", {})

    def _tell(self, text: str) -> None:
        if self.human:
            sys.stderr.write(f"{text}\n")

    def _write(self, tag: str, name: str, given: Mapping[str, Any]) -> None:
        output.write(self._send(tag, name, given), None, human=self.human)

    def _data(self, tag: str, name: str, given: Mapping[str, Any]) -> Any:
        response = self._send(tag, name, given)
        if response.status >= 400:
            raise failure(response)
        return json.load(response)["data"]

    def _send(self, tag: str, name: str, given: Mapping[str, Any], accept: str = "*/*") -> http.client.HTTPResponse:
        found = next((each for each in self.operations if (each.tag, each.name) == (tag, name)), None)
        if found is None:
            raise Stop(USAGE, f"this sandbox has no {tag} {name}")
        body, headers = request.body_of(found, given, None)
        return self.api.send(found.verb, request.target(found, given), body, {**headers, "Accept": accept})


def _place(text: str) -> tuple[str, int | None]:
    """Read a host with a port or without; an IPv6 address with a port stands in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.startswith("[")):
        return text.strip("[]"), None
    return host.strip("[]"), int(port)


def _access(answered: Mapping[str, Any]) -> str:
    place, status = f"{answered['host']}:{answered['port']}", answered["status"]
    until = f" until {shown('until', answered['until'])}" if answered["until"] else ""
    why = f": {answered['why']}" if answered["why"] else ""
    return f"{place} is allowed{until} by rule {answered['rule']}" if status == "allowed" else f"{place}: {status}{why}"


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    """Yield the name and the data of each event. Raises Stop for a refusal and for an event that is an error."""
    if response.status >= 400:
        raise failure(response)
    event = ""
    for raw in response:
        name, _, value = raw.decode("utf-8").rstrip("\r\n").partition(": ")
        if name == "event":
            event = value
        elif name == "data" and event == "error":
            raise Stop(FAILED, sentence(json.loads(value)))
        elif name == "data":
            yield event, json.loads(value)


FORMS: Mapping[str, tuple[Callable[[ShortForms, list[str]], None], str]] = {
    "exec": (ShortForms.execute, "exec COMMAND..."),
    "ask": (ShortForms.ask, "ask QUESTION [CHOICE...]"),
    "access": (ShortForms.access, "access HOST[:PORT] REASON..."),
    "checkpoint": (ShortForms.checkpoint, "checkpoint [LABEL...]"),
    "undo": (ShortForms.undo, "undo [CHECKPOINT]"),
    "doctor": (ShortForms.doctor, "doctor"),
}
"""Each with how it is written."""
ABOUT: Mapping[str, str] = {
    "exec": "Run a command, and end with its exit code.",
    "ask": "Ask a person, and wait for the answer.",
    "access": "Ask a person to let programs reach a host.",
    "checkpoint": "Keep the state of the files.",
    "undo": "Go back to the last checkpoint, or to one by its id.",
    "doctor": "Check which protections hold.",
}
