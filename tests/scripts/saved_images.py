"""Makes what `docker save` writes, of a small image."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

DPKG_STATUS = """Package: hello
Status: install ok installed
Version: 2.10-5
Architecture: amd64
Maintainer: none <none@example.org>
Description: says hello
"""
FILES = {
    "etc/os-release": b'ID=debian\nVERSION_ID="13"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
    "var/lib/dpkg/status": DPKG_STATUS.encode(),
    "opt/venv/lib/python3.13/site-packages/six-1.17.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: six\nVersion: 1.17.0\n",
    "opt/x/node_modules/leftpad/package.json": b'{"name": "leftpad", "version": "1.3.0", "license": "MIT"}',
}


def layer(files: dict[str, bytes], mtime: float, mode: int = 0o644) -> bytes:
    """A layer of these files, with a link and what a file system keeps beside a file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), mtime, mode
            member.pax_headers = {"SCHILY.xattr.security.capability": "caps"}
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("bin")
        link.type, link.linkname, link.mtime = tarfile.SYMTYPE, "usr/bin", mtime
        tar.addfile(link)
    return out.getvalue()


def save(path: Path, layers: list[bytes], *, architecture: str = "amd64", created: str = "2026-01-01T00:00:00.123Z") -> Path:
    """Write an image as an engine does; gives the path."""
    history = [{"created": created, "created_by": f"COPY {place}"} for place in range(len(layers))]
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "container": "of this build",
        "config": {"Entrypoint": ["/bin/hello"], "Labels": {"a": "b"}},
        "history": [*history, {"created": created, "created_by": "ENV A=1", "empty_layer": True}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in layers]},
    }
    names = [f"{place}/layer.tar" for place in range(len(layers))]
    files = {"manifest.json": json.dumps([{"Config": "c.json", "RepoTags": ["a:b"], "Layers": names}]), "c.json": json.dumps(config)}
    with tarfile.open(path, "w") as tar:
        for name, data in [*((name, text.encode()) for name, text in files.items()), *zip(names, layers, strict=True)]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path
