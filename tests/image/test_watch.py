"""File watches through the gateway, by the published SDK and by server-sent events."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from agent_sandbox import Sandbox as Client

if TYPE_CHECKING:
    from tests.image.container import Sandbox


@pytest.fixture
def watcher(client: Client, folder: str) -> Iterator[str]:
    created: Any = client.file.watch_create(path=folder, debounce=50)
    assert created["watcher_id"] == created["data"]["watcher_id"]
    yield created["watcher_id"]
    client.file.watch_stop(created["watcher_id"])


def stream(sandbox: "Sandbox", watcher: str, count: int, last_event_id: str = "") -> list[tuple[str, str, Any]]:
    """The first events: id, name and data of each."""
    headers = sandbox.headers | ({"Last-Event-ID": last_event_id} if last_event_id else {})
    found: list[tuple[str, str, Any]] = []
    with sandbox.http.stream("GET", f"{sandbox.base_url}/v1/file/watch/{watcher}/events", headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            name, _, value = line.partition(": ")
            fields[name] = value
            if not line and "event" in fields:
                found.append((fields.get("id", ""), fields["event"], json.loads(fields["data"])))
                fields = {}
            if len(found) == count:
                break
    return found


def put(sandbox: "Sandbox", path: str) -> None:
    """Have a file be there in one change: what makes and then fills it may be seen in between."""
    assert sandbox.run("sh", "-c", f"echo x >~/made && mv ~/made {path}").code == 0


def test_what_the_agent_does_is_polled(client: Client, sandbox: "Sandbox", folder: str, watcher: str) -> None:
    put(sandbox, f"{folder}/a")
    polled: Any = client.file.watch_poll(watcher, timeout=30)
    [event] = polled["events"]
    assert (event["type"], event["relative_path"], event["size"], event["is_dir"]) == ("create", "a", 2, False)
    assert polled["data"]["cursor"] == polled["cursor"] == 1
    later: Any = client.file.watch_poll(watcher, since=1)
    assert later["events"] == []


def test_a_stream_resumes_after_the_last_event(client: Client, sandbox: "Sandbox", folder: str, watcher: str) -> None:
    put(sandbox, f"{folder}/a")
    client.file.watch_poll(watcher, timeout=30)
    sandbox.run("sh", "-c", f"mv {folder}/a {folder}/b")
    started, created, renamed = stream(sandbox, watcher, 3)
    assert (started[1], created[1], created[0]) == ("watch_started", "file_change", f"{watcher}:1")
    assert (renamed[2]["type"], renamed[2]["old_path"]) == ("rename", f"{folder}/a")
    assert stream(sandbox, watcher, 2, created[0])[1] == renamed


def test_a_directory_that_is_replaced_is_watched_on(sandbox: "Sandbox", client: Client, folder: str) -> None:
    sandbox.run("mkdir", f"{folder}/dist")
    created: Any = client.file.watch_create(path=f"{folder}/dist", debounce=50)
    sandbox.run("sh", "-c", f"rm -r {folder}/dist; mkdir {folder}/dist; touch {folder}/dist/f")
    names = [name for _, name, _ in stream(sandbox, created["watcher_id"], 4)]
    assert names == ["watch_started", "watch_lost", "watch_restored", "file_change"]
    client.file.watch_stop(created["watcher_id"])


def test_a_file_is_waited_for(client: Client, sandbox: "Sandbox", folder: str) -> None:
    nothing: Any = client.file.watch_wait(path=f"{folder}/f", timeout=1)
    assert (nothing["event"], nothing["timed_out"]) == (None, True)
    sandbox.run("touch", f"{folder}/f")
    there: Any = client.file.watch_wait(path=f"{folder}/f", timeout=30)
    assert there["event"]["type"] == there["data"]["event"]["type"] == "create"


def test_watchers_are_listed_and_stopped_and_limited(mended: "Sandbox") -> None:
    made = [mended.request("POST", "/v1/file/watch", json={"path": "/home/gem"}) for _ in range(32)]
    assert {response.status_code for response in made} == {200}
    assert len(mended.request("GET", "/v1/file/watch").json()["watchers"]) == 32
    refused = mended.request("POST", "/v1/file/watch", json={"path": "/home/gem"})
    assert (refused.status_code, refused.json()["success"]) == (429, False)
    for one in made:
        assert mended.request("DELETE", f"/v1/file/watch/{one.json()['watcher_id']}").status_code == 200
    assert mended.request("DELETE", f"/v1/file/watch/{made[0].json()['watcher_id']}").status_code == 404
    assert mended.request("POST", "/v1/file/watch", json={"path": "/home/gem/missing"}).status_code == 404


def test_watching_goes_on_after_the_watching_process_was_killed(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox()
    sandbox.run("mkdir", "/home/gem/watched")  # in the home a kernel that gets ready writes its profile
    watcher = sandbox.request("POST", "/v1/file/watch", json={"path": "/home/gem/watched", "debounce": 50}).json()["watcher_id"]
    assert sandbox.exec("pkill", "-9", "-u", "gem", "-f", "sandbox_server spawn").code == 0
    poll = f"/v1/file/watch/{watcher}/poll"
    [lost] = sandbox.request("POST", poll, json={"timeout": 30}).json()["events"]
    assert (lost["type"], lost["reason"]) == ("overflow", "watching was interrupted")
    sandbox.run("touch", "/home/gem/watched/after")
    [seen] = sandbox.request("POST", poll, json={"cursor": 1, "timeout": 30}).json()["events"]
    assert (seen["type"], seen["relative_path"]) == ("create", "after")
