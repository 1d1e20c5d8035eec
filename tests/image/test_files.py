"""Files through the gateway, by the published SDK and by plain HTTP."""

import base64
import hashlib
import io
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from agent_sandbox import Sandbox as Client
from agent_sandbox.core.api_error import ApiError
from agent_sandbox.errors import UnprocessableEntityError

if TYPE_CHECKING:
    from tests.image.container import Sandbox

GIBIBYTE = 1 << 30
MAX_GROWTH_KB = 64 << 10
"""How much the API may grow while a gibibyte goes up and down."""
BLOCK = os.urandom(1 << 20)


def post(sandbox: "Sandbox", operation: str, **fields: Any) -> httpx.Response:
    return sandbox.request("POST", f"/v1/file/{operation}", json=fields)


def test_every_operation_of_the_sdk_does_its_part(client: Client, folder: str) -> None:
    file = f"{folder}/f.py"
    assert client.file.write_file(file=file, content="one\ntwo\n").data.bytes_written == 8
    client.file.write_file(file=file, content="three", append=True, trailing_newline=True)
    assert client.file.read_file(file=file).data.content == "one\ntwo\nthree\n"
    assert client.file.read_file(file=file, start_line=1, end_line=2).data.content == "two\n"
    assert client.file.replace_in_file(file=file, old_str="two", new_str="2").data.replaced_count == 1
    assert client.file.search_in_file(file=file, regex="^t").data.line_numbers == [3]
    assert client.file.find_files(path=folder, glob="*.py").data.files == [file]
    assert client.file.grep_files(path=folder, pattern="o", include=["*.py"]).data.matches[0].line_content == "one"
    assert client.file.glob_files(path=folder, pattern="**/*.py").data.files[0].name == "f.py"
    assert client.file.list_path(path=folder, include_permissions=True).data.files[0].permissions == "-rw-r--r--"
    uploaded = client.file.upload_file(file=("up.bin", b"\0\1"), path=f"{folder}/up.bin").data
    assert (uploaded.file_path, uploaded.file_size, uploaded.success) == (f"{folder}/up.bin", 2, True)
    assert b"".join(client.file.download_file(path=f"{folder}/up.bin")) == b"\0\1"


def test_the_editor_of_the_sdk_creates_edits_and_undoes(client: Client, sandbox: "Sandbox", folder: str) -> None:
    path = f"{folder}/f"
    client.file.str_replace_editor(command="create", path=path, file_text="a\nb\n")
    edited = client.file.str_replace_editor(command="str_replace", path=path, old_str="a", new_str="c").data
    assert (edited.old_content, edited.new_content) == ("a\nb\n", "c\nb\n")
    client.file.str_replace_editor(command="undo_edit", path=path)
    client.file.str_replace_editor(command="undo_edit", path=path)
    answer = client.file.str_replace_editor(command="view", path=path)
    assert (answer.success, answer.data.error is not None) == (False, True)
    assert sandbox.run("ls", folder).stdout == ""


def test_a_document_is_viewed_by_a_process_of_the_agent(client: Client, sandbox: "Sandbox", folder: str) -> None:
    program = f"import openpyxl; book = openpyxl.Workbook(); book.active.append(['x', 1]); book.save('{folder}/b.xlsx')"
    assert sandbox.run("/opt/venv/bin/python", "-c", program).code == 0
    shown = client.file.str_replace_editor(command="view", path=f"{folder}/b.xlsx", enable_metadata=True).data
    assert "     1\tx\t1" in shown.output
    assert (shown.metadata or {})["total_sheets"] == 1


def test_a_failed_read_is_the_contracts_answer(sandbox: "Sandbox", client: Client) -> None:
    response = post(sandbox, "read", file="/tmp/missing.txt")
    message = "Failed to read file: [Errno 2] No such file or directory: '/tmp/missing.txt'"
    body = response.json()
    assert (response.status_code, body["success"], body["message"]) == (200, False, message)
    assert {key: value for key, value in body["data"].items() if key not in ("content", "file")} == {
        "path": "/tmp/missing.txt",
        "operation": "read",
        "message": message,
        "error_type": "not_found",
        "retryable": False,
        "errno": 2,
        "errno_name": "ENOENT",
        "exception_type": "FileNotFoundError",
    }
    answer = client.file.read_file(file="/tmp/missing.txt")
    assert (answer.success, answer.data.content) == (False, "")


def test_the_api_reads_as_the_agent_and_with_sudo_as_root(client: Client) -> None:
    denied = client.file.read_file(file="/etc/shadow")
    assert (denied.success, "Permission denied" in denied.message) == (False, True)
    assert client.file.read_file(file="/etc/shadow", sudo=True).data.content.startswith("root:")
    assert not client.file.list_path(path="/run/sandbox").success


def test_without_sudo_nobody_reads_as_root(configured: "Sandbox") -> None:
    body = post(configured, "read", file="/etc/shadow", sudo=True).json()
    assert (body["success"], body["data"]["error_type"]) == (False, "permission_denied")
    assert post(configured, "write", file="/home/gem/f", content="x").json()["success"]


def test_what_the_contract_lacks_is_there(sandbox: "Sandbox", folder: str) -> None:
    assert post(sandbox, "mkdir", path=f"{folder}/a/b").json()["data"]["created"]
    post(sandbox, "write", file=f"{folder}/a/b/f", content="abc")
    assert post(sandbox, "stat", path=f"{folder}/a/b/f").json()["data"]["owner"] == "gem"
    assert post(sandbox, "copy", path=f"{folder}/a", destination=f"{folder}/c", recursive=True).json()["success"]
    assert post(sandbox, "move", path=f"{folder}/c/b/f", destination=f"{folder}/g").json()["data"]["size"] == 3
    assert post(sandbox, "chmod", path=f"{folder}/g", mode="u+x").json()["data"]["mode"] == "0744"
    assert "└── g" in post(sandbox, "tree", path=folder).json()["data"]["tree"]
    assert post(sandbox, "archive", paths=[f"{folder}/a"], destination=f"{folder}/a.zip").json()["data"]["member_count"] == 3
    assert post(sandbox, "extract", path=f"{folder}/a.zip", destination=f"{folder}/out").json()["data"]["size"] == 3
    assert post(sandbox, "delete", path=f"{folder}/a", recursive=True).json()["data"]["deleted"]
    assert post(sandbox, "operations", action="read", path=f"{folder}/out/a/b/f").json()["data"]["content"] == "abc"


def test_a_write_over_another_version_is_refused(sandbox: "Sandbox", folder: str) -> None:
    first = post(sandbox, "write", file=f"{folder}/f", content="one").json()["data"]["etag"]
    assert post(sandbox, "write", file=f"{folder}/f", content="two", if_match=first).status_code == 200
    assert post(sandbox, "write", file=f"{folder}/f", content="three", if_match=first).status_code == 409


@pytest.mark.parametrize(
    ("headers", "status", "body"),
    [
        ({}, 200, b"0123456789"),
        ({"Range": "bytes=2-4"}, 206, b"234"),
        ({"Range": "bytes=-3"}, 206, b"789"),
        ({"Range": "bytes=99-"}, 416, b""),
        ({"Range": "bytes=2-4", "If-Range": '"other"'}, 200, b"0123456789"),
    ],
)
def test_a_download_can_be_resumed(sandbox: "Sandbox", folder: str, headers: dict[str, str], status: int, body: bytes) -> None:
    post(sandbox, "write", file=f"{folder}/f", content="0123456789")
    response = sandbox.request("GET", "/v1/file/download", params={"path": f"{folder}/f"}, headers=headers)
    assert (response.status_code, response.content) == (status, body)
    known = {"If-None-Match": response.headers["etag"]}
    assert sandbox.request("GET", "/v1/file/download", params={"path": f"{folder}/f"}, headers=known).status_code == 304
    assert sandbox.request("HEAD", "/v1/file/download", params={"path": f"{folder}/f"}).headers["content-length"] == "10"


def test_a_download_that_fails_has_a_status(client: Client, sandbox: "Sandbox") -> None:
    with pytest.raises(ApiError) as error:
        b"".join(client.file.download_file(path="/tmp/missing"))
    assert error.value.status_code == 404
    for path, status in (("/etc/shadow", 403), ("/tmp", 400), ("relative", 400)):
        assert sandbox.request("GET", "/v1/file/download", params={"path": path}).status_code == status


def test_a_form_without_a_file_is_422_in_the_sdks_words(sandbox: "Sandbox", client: Client) -> None:
    response = sandbox.request("POST", "/v1/file/upload", files={"other": b"x"})
    assert response.json() == {"detail": [{"loc": ["body", "file"], "msg": "Field required", "type": "missing"}]}
    with pytest.raises(UnprocessableEntityError):
        client.file.grep_files(path="/tmp", pattern="x", max_results=0)


def test_names_of_any_bytes_go_through_every_surface(sandbox: "Sandbox", folder: str) -> None:
    made = sandbox.run("python3", "-c", f"open(b'{folder}/caf\\xe9 \\n', 'w').write('x')")
    assert made.code == 0, made.stderr
    [entry] = post(sandbox, "list", path=folder).json()["data"]["files"]
    assert post(sandbox, "read", file=entry["path"]).json()["data"]["content"] == "x"
    assert sandbox.request("GET", "/v1/file/download", params={"path": entry["path"]}).content == b"x"
    assert post(sandbox, "delete", path=entry["path"]).json()["success"]
    assert sandbox.run("ls", folder).stdout == ""


class Gibibyte(io.RawIOBase):
    """A file of one gibibyte that is made as it is read."""

    def __init__(self) -> None:
        self._at = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        chunk = BLOCK[: min(size if size > 0 else len(BLOCK), len(BLOCK), GIBIBYTE - self._at)]
        self._at += len(chunk)
        self.digest.update(chunk)
        return chunk


def peak_kb(sandbox: "Sandbox") -> int:
    """The most memory that the API has had, in KiB."""
    pid = sandbox.exec("pgrep", "-o", "-f", "sandbox_server serve").stdout.strip()
    status = sandbox.exec("cat", f"/proc/{pid}/status").stdout
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found, status
    return int(found[1])


def test_a_gibibyte_goes_up_and_down_with_flat_memory(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox()
    sandbox.request("POST", "/v1/file/upload", files={"file": ("warm-up", BLOCK * 8)})
    sandbox.request("GET", "/v1/openapi.json")  # describing itself takes memory, whoever asks first
    before = peak_kb(sandbox)
    sent = Gibibyte()
    body = sandbox.request("POST", "/v1/file/upload", files={"file": ("big", sent)}, timeout=300).json()
    assert body["data"]["file_size"] == GIBIBYTE
    received = hashlib.sha256()
    url = f"{sandbox.base_url}/v1/file/download"
    with sandbox.http.stream("GET", url, params={"path": body["data"]["file_path"]}, headers=sandbox.headers, timeout=300) as response:
        for chunk in response.iter_raw():
            received.update(chunk)
    assert received.hexdigest() == sent.digest.hexdigest()
    assert peak_kb(sandbox) - before < MAX_GROWTH_KB


def test_an_upload_goes_on_after_the_api_was_killed(mended: "Sandbox") -> None:
    data, tus = os.urandom(3_000_000), {"Tus-Resumable": "1.0.0"}
    metadata = f"path {base64.b64encode(b'/home/gem/f').decode()}"
    created = mended.request("POST", "/v1/file/uploads", headers=tus | {"Upload-Length": str(len(data)), "Upload-Metadata": metadata})
    assert created.status_code == 201
    path = httpx.URL(created.headers["location"]).path
    part = {"Content-Type": "application/offset+octet-stream"} | tus
    assert mended.request("PATCH", path, headers=part | {"Upload-Offset": "0"}, content=data[:1_000_000]).status_code == 204

    mended.exec("pkill", "-9", "-f", "sandbox_server serve")
    mended.wait_ready()

    offset = mended.request("HEAD", path, headers=tus).headers["upload-offset"]
    assert offset == "1000000"
    assert mended.run("test", "-e", "/home/gem/f").code == 1
    assert mended.request("PATCH", path, headers=part | {"Upload-Offset": offset}, content=data[1_000_000:]).status_code == 204
    assert mended.request("GET", "/v1/file/download", params={"path": "/home/gem/f"}).content == data


def test_a_read_only_mount_and_a_full_disk_are_the_callers_errors(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(args=["--tmpfs=/small:rw,size=1m,mode=1777", "--tmpfs=/fixed:ro"])
    body = post(sandbox, "write", file="/fixed/f", content="x", sudo=True).json()
    assert (body["success"], body["data"]["error_type"]) == (False, "read_only_filesystem")
    post(sandbox, "write", file="/small/f", content="old")
    body = post(sandbox, "write", file="/small/f", content="x" * (2 << 20)).json()
    assert (body["success"], body["data"]["error_type"]) == (False, "no_space_left")
    upload = sandbox.request("POST", "/v1/file/upload", files={"file": ("f", bytes(2 << 20))}, data={"path": "/small/f"}).json()
    assert (upload["success"], upload["data"]["error_type"]) == (False, "no_space_left")
    assert post(sandbox, "read", file="/small/f").json()["data"]["content"] == "old"
    assert sandbox.run("ls", "-A", "/small").stdout == "f\n"
