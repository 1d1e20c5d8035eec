"""A release of the built image, end to end; and what our files make is the same in a second build."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.image.container import engine
from tests.scripts.releases import EPOCH, ROOT, VERSION, Release, make_key, registry, release, tool

pytestmark = [pytest.mark.slow, pytest.mark.limit(1000)]
OWN_LAYERS = 7
"""How many the Dockerfile's last stage copies: the server's packages, vendored files, native programs and our code."""
BUILT_AGAIN = "packages,web,native,code"
AUTHORITIES = Path("/run/authorities.crt")


def save(image: str, path: Path) -> Path:
    """Save an image as a file."""
    tool("docker", "save", "--output", path, image)
    return path


@pytest.fixture(scope="module")
def core() -> str:
    """The smallest variant of the image under test."""
    image = f"{os.environ['TANDEM_IMAGE']}:core"
    if engine("image", "inspect", image).code != 0:
        pytest.fail(f"there is no image {image}: run scripts/build core")
    return image


@pytest.fixture(scope="module")
def pushed(core: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Release, str]]:
    """A signed release of it, and where it was pushed."""
    folder = tmp_path_factory.mktemp("release")
    (folder / "saved").mkdir()
    save(core, folder / "saved" / "core-amd64.tar")
    with registry(folder) as address:
        yield release(folder / "saved", folder / "dist", make_key(folder / "key"), f"{address}/tandem"), f"{address}/tandem:{VERSION}-core"


def listed(made: Release, kind: str) -> set[str]:
    """The packages of a kind that the release lists, as name and version."""
    (path,) = made.dist.glob("tandem-core-*.cdx.json")
    purls = (component.get("purl", "") for component in json.loads(path.read_text())["components"])
    found = (re.fullmatch(rf"pkg:{kind}/(?:debian/)?([^@]+)@([^?]+).*", unquote(purl)) for purl in purls)
    return {f"{match[1]} {match[2]}" for match in found if match}


def test_the_list_has_every_package_that_the_image_has(pushed: tuple[Release, str], core: str) -> None:
    packages = engine("run", "--rm", "--entrypoint", "dpkg-query", core, "--show", "--showformat", "${binary:Package} ${Version}\n").stdout
    assert listed(pushed[0], "deb") == {line.replace(":amd64", "") for line in packages.splitlines()}
    listing = ("-m", "pip", "--python", "/opt/venv/bin/python", "list", "--format", "freeze")
    pip = engine("run", "--rm", "--entrypoint", "python3", core, *listing).stdout
    found = {re.sub("[-_.]+", "-", line.lower()) for line in listed(pushed[0], "pypi")}
    assert {re.sub("[-_.]+", "-", line.lower().replace("==", " ")) for line in pip.splitlines()} <= found
    node = engine("run", "--rm", "--entrypoint", "node", core, "--version").stdout.strip().removeprefix("v")
    assert f"node {node}" in listed(pushed[0], "generic")


def test_the_release_is_whole_and_what_is_pushed_is_signed(pushed: tuple[Release, str]) -> None:
    made, name = pushed
    assert tool("sha256sum", "--quiet", "--check", "SHA256SUMS", where=made.dist).stdout == ""
    digest = tool("skopeo", "inspect", "--tls-verify=false", "--format", "{{.Digest}}", f"docker://{name}").stdout.strip()
    assert made.digests() == {name: digest}
    (claim,) = json.loads(tool("cosign", "verify", "--insecure-ignore-tlog=true", "--key", made.dist / "cosign.pub", name).stdout)
    assert claim["critical"]["image"]["docker-manifest-digest"] == digest


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the image was built of: the image of the tests has what the build fetches beside it."""
    return Path(shutil.copytree(ROOT, tmp_path / "checkout", ignore=shutil.ignore_patterns("vendor", "__pycache__")))


def test_a_second_build_of_what_our_files_make_is_equal_to_the_byte(pushed: tuple[Release, str], checkout: Path, tmp_path: Path) -> None:
    """Debian's packages below are left out: they are those of their day."""
    image = f"tandem-repeat:{os.environ['TANDEM_RUN']}"
    secret = ["--secret", f"id=authorities,src={AUTHORITIES}"] if AUTHORITIES.is_file() else []
    arguments = [f"--build-arg={name}" for name in ("PIP_INDEX_URL", "NPM_CONFIG_REGISTRY") if os.environ.get(name)]
    target = ["--target", "runtime", "--build-arg", "VARIANT=debian:trixie-slim", "--tag", image, "."]
    command = ["docker", "buildx", "build", "--progress", "plain", "--no-cache-filter", BUILT_AGAIN, *secret, *arguments, *target]
    try:
        done = tool(*command, where=checkout, check=False)
        assert done.returncode == 0, done.stderr
        saved = save(image, tmp_path / "saved.tar")
    finally:
        engine("image", "rm", image)
    environ = os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)}
    subprocess.run([ROOT / "scripts" / "oci-archive", image, tmp_path / "second.oci.tar", saved], env=environ, check=True, timeout=600)
    archives = (pushed[0].dist / "tandem-core.oci.tar", tmp_path / "second.oci.tar")
    compared = tool(ROOT / "scripts" / "compare-builds", *archives, str(OWN_LAYERS), check=False)
    assert (compared.returncode, compared.stdout) == (0, "")
