"""Files as envd describes them."""

import pytest
from tandem_fleet.e2b import entries
from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.sandbox_calls import SandboxCalls

from tests.fleet.e2b.stub_sandbox import StubSandbox, refused

pytestmark = pytest.mark.anyio
STATUS = {
    "type": "file",
    "size": 5,
    "mode": "0644",
    "permissions": "-rw-r--r--",
    "owner": "gem",
    "group": "users",
    "modified_time": "2026-01-02T03:04:05+00:00",
    "real_path": "/real",
}


def test_a_file_is_described() -> None:
    sent = entries.describe("/a/b", STATUS).to_json()
    assert sent == (
        b'{"name":"b","type":"FILE_TYPE_FILE","path":"/a/b","size":"5","mode":420,"permissions":"-rw-r--r--",'
        b'"owner":"gem","group":"users","modifiedTime":"2026-01-02T03:04:05Z"}'
    )
    link = entries.describe("/a", STATUS | {"type": "symlink"})
    assert (link.type, link.symlink_target) == ("FILE_TYPE_SYMLINK", "/real")
    assert entries.describe("/", STATUS | {"type": "socket"}).type == "FILE_TYPE_UNSPECIFIED"


async def test_a_directory_is_listed_by_path_without_what_went_away(calls: SandboxCalls, stub: StubSandbox) -> None:
    stub.on("POST /v1/file/list", lambda _: {"files": [{"path": "/d/b"}, {"path": "/d/a"}, {"path": "/d/gone"}]})
    stub.on("POST /v1/file/stat", lambda asked: refused(0, "gone", "not_found") if asked["path"] == "/d/gone" else STATUS)
    assert [one.path for one in await entries.listed(calls, "/d", 2, root=True)] == ["/d/a", "/d/b"]
    [asked] = stub.calls("POST /v1/file/list")
    assert (asked["recursive"], asked["max_depth"]) == (True, 2)
    assert all(one["sudo"] and not one["follow_symlinks"] for one in stub.calls("POST /v1/file/stat"))


async def test_a_list_that_is_cut_is_refused(calls: SandboxCalls, stub: StubSandbox) -> None:
    stub.on("POST /v1/file/list", lambda _: {"files": [], "truncated": True})
    with pytest.raises(RPCError, match="more than"):
        await entries.listed(calls, "/d", 1, root=False)
