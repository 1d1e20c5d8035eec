import io
from typing import Any

from tests.image.sdk.calls import Calls, a_path, drives


@drives("file.write_file", "file.read_file", "file.replace_in_file", "file.search_in_file")
async def files(calls: Calls) -> None:
    path = a_path("ü.txt")
    written = (await calls("file.write_file", file=path, content="one\ntwo\nthree", trailing_newline=True)).data
    replaced = (await calls("file.replace_in_file", file=path, old_str="two", new_str="2")).data
    read = (await calls("file.read_file", file=path)).data
    part = (await calls("file.read_file", file=path, start_line=1, end_line=2)).data
    found = (await calls("file.search_in_file", file=path, regex="t.ree")).data
    missing = await calls("file.read_file", file="/tmp/missing.txt")

    assert (written.file, written.bytes_written, replaced.replaced_count) == (path, 14, 1)
    assert (read.content, part.content.strip(), found.line_numbers) == ("one\n2\nthree\n", "2", [3])
    assert missing.success is False
    assert (missing.data.error_type, missing.data.errno_name) == ("not_found", "ENOENT")
    assert missing.message == "Failed to read file: [Errno 2] No such file or directory: '/tmp/missing.txt'"


@drives("file.list_path", "file.find_files", "file.glob_files", "file.grep_files")
async def searches(calls: Calls) -> None:
    path = a_path("deep/notes.md")
    folder = path.removesuffix("/deep/notes.md")
    await calls("file.write_file", file=path, content="a line\nneedle here\n")
    listed = (await calls("file.list_path", path=folder, recursive=True, file_types=[".md"], sort_by="size")).data
    found = (await calls("file.find_files", path=folder, glob="*.md")).data
    globbed = (await calls("file.glob_files", path=folder, pattern="**/*.md", sort_desc=True)).data
    matched = (await calls("file.grep_files", path=folder, pattern="need.e", include=["*.md"], context_before=1)).data

    assert path in [entry.path for entry in listed.files]
    assert (found.files, [entry.path for entry in globbed.files]) == ([path], [path])
    assert (matched.match_count, matched.matches[0].line_number, matched.matches[0].context_before) == (1, 2, ["a line"])


@drives("file.upload_file", "file.download_file")
async def transfers(calls: Calls) -> None:
    path, content = a_path("data.bin"), bytes(range(256)) * 4096
    uploaded = (await calls("file.upload_file", file=("data.bin", io.BytesIO(content)), path=path)).data

    assert (uploaded.file_path, uploaded.file_size) == (path, len(content))
    assert await calls("file.download_file", path=path) == content
    assert (await calls.fails("file.download_file", path="/nowhere/at/all")).status_code == 404


@drives("file.str_replace_editor")
async def editor(calls: Calls) -> None:
    path = a_path("code.py")
    await calls("file.str_replace_editor", command="create", path=path, file_text="a = 1\nb = 2\n")
    await calls("file.str_replace_editor", command="str_replace", path=path, old_str="a = 1", new_str="a = 3")
    await calls("file.str_replace_editor", command="insert", path=path, insert_line=2, new_str="c = 4")
    shown = (await calls("file.str_replace_editor", command="view", path=path, view_range=[1, 3])).data
    await calls("file.str_replace_editor", command="undo_edit", path=path)
    read = (await calls("file.read_file", file=path)).data

    assert "a = 3" in shown.output
    assert "c = 4" in shown.output
    assert read.content == "a = 3\nb = 2\n"


@drives("file.watch_create", "file.watch_list", "file.watch_poll", "file.watch_wait", "file.watch_stop")
async def watches(calls: Calls) -> None:
    path = a_path("seen.txt")
    await calls("file.write_file", file=path, content="")
    made = await calls("file.watch_create", path=path.removesuffix("/seen.txt"), debounce=50)
    watcher = made["data"]["watcher_id"]
    await calls("file.write_file", file=path, content="news")
    polled: Any = {"cursor": 0, "events": []}
    while path not in [event["path"] for event in polled["events"]]:  # what it is written to first may be told by itself
        polled = await calls("file.watch_poll", watcher_id=watcher, since=polled["cursor"], timeout=30)
        assert polled["events"], "nothing more came"
    later = await calls("file.watch_poll", watcher_id=watcher, since=polled["cursor"])
    waited = await calls("file.watch_wait", path=path, timeout=30, event_types=["create"])
    listed = await calls("file.watch_list")
    await calls("file.watch_stop", watcher_id=watcher)

    assert made["watcher_id"] == watcher
    assert polled["events"][-1]["seq"] not in [event["seq"] for event in later["events"]]
    assert waited["event"]["path"] == path
    assert watcher in str(listed)
    assert (await calls.fails("file.watch_poll", watcher_id=watcher)).status_code == 404
