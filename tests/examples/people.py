"""A person who answers what an example asks."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.patience import PATIENCE_SECONDS, until


@contextmanager
def answering(sandbox: Sandbox, *answers: dict[str, Any]) -> Iterator[None]:
    """A person who answers the requests that come, one after the other; `secret` is typed into its field first."""
    person, failed = Person(sandbox), []

    def answer_all() -> None:
        try:
            for answer in answers:
                answer_next(person, **answer)
        except Exception as error:  # noqa: BLE001 # it belongs to the test, not to its thread
            failed.append(error)

    thread = threading.Thread(target=answer_all)
    thread.start()
    yield
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert not failed, failed


def answer_next(person: Person, secret: dict[str, str] | None = None, **answer: str) -> None:
    """Wait for a request, take it on and answer it."""
    waiting = until(lambda: person.ask("GET", "/v1/handoffs").json()["data"])
    request = f"/v1/handoffs/{waiting[0]['id']}"
    person.ask("POST", f"{request}/claim", json={}).raise_for_status()
    if secret:
        person.ask("POST", f"{request}/secret", json=secret).raise_for_status()
    person.ask("POST", f"{request}/answer", json=answer).raise_for_status()
