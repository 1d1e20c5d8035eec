import os
import subprocess
from pathlib import Path

import pytest

from sandbox_server.drivers.box import trust_links
from sandbox_server.drivers.box.mount_plan import LayeredPart, SharedPart


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    """A copy of /etc with a bundle."""
    (tmp_path / "etc" / "ssl" / "certs").mkdir(parents=True)
    (tmp_path / "etc" / "ssl" / "certs" / "ca-certificates.crt").write_text("the image's")
    return tmp_path / "etc"


def test_the_bundle_is_a_link_and_update_ca_certificates_keeps_the_authority(etc: Path, tmp_path: Path) -> None:
    folder = tmp_path / "trust"
    folder.mkdir()
    for _ in range(2):
        trust_links.link([LayeredPart("/", "/"), LayeredPart("/etc", str(etc))], str(folder))
    bundle = etc / "ssl" / "certs" / "ca-certificates.crt"
    assert os.readlink(bundle) == f"{folder}/ca-certificates.crt"
    hook = etc / "ca-certificates" / "update.d" / "tandem"
    made = tmp_path / "made.crt"
    made.write_text("anew\n")
    hook.write_text(hook.read_text().replace("/etc/ssl/certs/ca-certificates.crt", str(made)))
    (folder / "authority.pem").write_text("")
    assert subprocess.run([hook], check=False).returncode == 0
    assert made.read_text() == "anew\n"
    (folder / "authority.pem").write_text("authority\n")
    assert subprocess.run([hook], check=False).returncode == 0
    assert made.read_text() == "anew\nauthority\n"


def test_what_the_containers_user_mounted_stays(etc: Path) -> None:
    trust_links.link([LayeredPart("/etc", str(etc)), SharedPart("/etc/ssl/certs/ca-certificates.crt")], "/nowhere")
    assert (etc / "ssl" / "certs" / "ca-certificates.crt").read_text() == "the image's"


def test_an_image_without_a_bundle_gets_none(etc: Path) -> None:
    (etc / "ssl" / "certs" / "ca-certificates.crt").unlink()
    trust_links.link([LayeredPart("/etc", str(etc))], "/nowhere")
    assert os.listdir(etc / "ssl" / "certs") == []
