from typing import Any

from sandbox_server.features.recorder.secret_entries import SecretEntries


class Journal:
    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def record(self, kind: str, actor: str, name: str, **what: Any) -> None:
        self.entries.append({"kind": kind, "by": name, **what})


def test_a_request_is_recorded_by_the_secrets_name() -> None:
    journal = Journal()
    entries = SecretEntries(journal)  # type: ignore[arg-type]
    entries.hear({"event": "open", "host": "a.example"})
    event = {"event": "secret", "name": "T", "host": "a.example", "port": 443, "method": "GET", "path": "/x" * 500, "outcome": "sent"}
    entries.hear({**event, "value": "never"})
    [entry] = journal.entries
    assert (entry["kind"], entry["secret"], entry["host"], entry["method"]) == ("egress", "T", "a.example", "GET")
    assert len(entry["path"]) == 200
    assert "never" not in str(entry)


def test_a_fill_is_recorded_with_who_asked_for_it() -> None:
    journal = Journal()
    SecretEntries(journal).filled("agent-1", "T", "https://a.example")  # type: ignore[arg-type]
    assert journal.entries == [
        {"kind": "egress", "by": "agent-1", "event": "secret", "secret": "T", "origin": "https://a.example", "outcome": "filled"}
    ]


def test_a_request_that_got_none_is_recorded_with_the_reason() -> None:
    journal = Journal()
    entries = SecretEntries(journal)  # type: ignore[arg-type]
    event = {"event": "secret", "name": "T", "host": "a.example", "port": 443, "method": "GET", "path": "/"}
    entries.hear({**event, "outcome": "not_bound", "reason": "other_origin"})
    entries.hear({**event, "outcome": "sent", "reason": ""})
    assert [(entry["outcome"], entry.get("reason")) for entry in journal.entries] == [("not_bound", "other_origin"), ("sent", None)]
