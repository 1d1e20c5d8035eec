"""Files and watches."""

import asyncio
import io
import urllib.request
from typing import Any

from e2b import FileNotFoundException, FilesystemEventType, FileType, InvalidArgumentException
from steps import BLOCKING, it, noted, pieces, refused, run


async def program(kind: Any) -> None:
    """The program."""
    sandbox = noted("Sandbox", await it(kind.create(timeout=900, request_timeout=300)))
    try:
        await content(sandbox)
        await tree(sandbox)
        await links(sandbox)
        await watches(sandbox)
    finally:
        await it(sandbox.kill())


async def content(sandbox: Any) -> None:
    """What is written is read."""
    written = await it(sandbox.files.write("a b/ä.txt", "hello"))
    assert written.path == "/home/gem/a b/ä.txt"
    assert await it(sandbox.files.read("/home/user/a b/ä.txt")) == "hello"
    large = bytes(range(256)) * 8192
    await it(sandbox.files.write("large", io.BytesIO(large)))
    assert bytes(await it(sandbox.files.read("large", format="bytes"))) == large
    assert await pieces(await it(sandbox.files.read("large", format="stream"))) == large
    await it(sandbox.files.write("zipped", "z" * 100_000, gzip=True))
    assert len(await it(sandbox.files.read("zipped"))) == 100_000
    two = await it(sandbox.files.write_files([{"path": "one", "data": "1"}, {"path": "/tmp/two", "data": b"2"}]))
    assert [one.path for one in two] == ["/home/gem/one", "/tmp/two"]
    await it(sandbox.files.write("/root/mine", "secret", user="root"))
    assert await it(sandbox.files.read("/root/mine", user="root")) == "secret"
    assert (await it(sandbox.files.get_info("/root/mine", user="root"))).owner == "root"
    await refused(FileNotFoundException, lambda: sandbox.files.read("none"))
    await refused(InvalidArgumentException, lambda: sandbox.files.write("a b", "a directory"))
    await refused(InvalidArgumentException, lambda: sandbox.files.write("one", "1", metadata={"author": "me"}))


async def tree(sandbox: Any) -> None:
    """Directories."""
    assert await it(sandbox.files.make_dir("d/e"))
    assert not await it(sandbox.files.make_dir("d/e"))
    await it(sandbox.files.write("d/e/f.txt", "12345"))
    await it(sandbox.commands.run("ln -s f.txt d/e/link"))
    names = [one.path for one in await it(sandbox.files.list("d", depth=2))]
    assert names == ["/home/gem/d/e", "/home/gem/d/e/f.txt", "/home/gem/d/e/link"]
    info = await it(sandbox.files.get_info("d/e/f.txt"))
    assert (info.type, info.size, info.owner, info.permissions) == (FileType.FILE, 5, "gem", "-rw-r--r--")
    link = await it(sandbox.files.get_info("d/e/link"))
    assert (link.type, link.symlink_target) == (FileType.SYMLINK, "/home/gem/d/e/f.txt")
    moved = await it(sandbox.files.rename("d/e/f.txt", "d/g.txt"))
    assert moved.path == "/home/gem/d/g.txt"
    assert [await it(sandbox.files.exists(path)) for path in ("d/g.txt", "d/e/f.txt")] == [True, False]
    await it(sandbox.files.remove("d"))
    assert not await it(sandbox.files.exists("d"))


async def links(sandbox: Any) -> None:
    """Links to files."""
    await it(sandbox.files.write("linked", "by a link"))
    link = sandbox.download_url("linked", use_signature_expiration=600)
    assert await asyncio.to_thread(_read, link) == b"by a link"
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nsent\r\n--b--\r\n'
    request = urllib.request.Request(sandbox.upload_url("uploaded"), body, {"Content-Type": "multipart/form-data; boundary=b"})
    await asyncio.to_thread(_read, request)
    assert await it(sandbox.files.read("uploaded")) == "sent"


def _read(link: str | urllib.request.Request) -> bytes:
    with urllib.request.urlopen(link, timeout=60) as answer:
        return bytes(answer.read())


async def watches(sandbox: Any) -> None:
    """Changes of a directory: the blocking client asks for them, the asynchronous one is told."""
    await it(sandbox.files.make_dir("watched"))
    told: list[Any] = []
    how: dict[str, Any] = {"include_entry": True} if BLOCKING else {"on_event": told.append}
    watch = noted("WatchHandle", await it(sandbox.files.watch_dir("watched", recursive=True, **how)))
    await it(sandbox.files.write("watched/new", "1"))
    async with asyncio.timeout(60):
        while not any((one.name, one.type) == ("new", FilesystemEventType.CREATE) for one in told):
            await asyncio.sleep(0.1)
            told += watch.get_new_events() if BLOCKING else []
    await it(watch.stop())


run(program)
