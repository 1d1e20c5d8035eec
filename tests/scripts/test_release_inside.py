"""`scripts/release-inside` makes what a release has of saved images, and says what it leaves out."""

import base64
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.scripts.releases import GIVEN, ROOT, VERSION, Release, make_key, registry, release, tool
from tests.scripts.saved_images import FILES, layer, save

pytestmark = pytest.mark.limit(1000)


def saved_images(folder: Path) -> Path:
    """Two variants, one of them for two platforms."""
    folder.mkdir()
    save(folder / "core-amd64.tar", [layer(FILES, 1)])
    save(folder / "core-arm64.tar", [layer(FILES, 1)], architecture="arm64")
    save(folder / "full-amd64.tar", [layer(FILES, 1), layer({"more": b"more"}, 1)])
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release without a key that goes nowhere."""
    folder = tmp_path_factory.mktemp("plain")
    return release(saved_images(folder / "saved"), folder / "dist")


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Release, str]]:
    """A signed release, and the repository where it is."""
    folder = tmp_path_factory.mktemp("pushed")
    with registry(folder) as address:
        yield release(saved_images(folder / "saved"), folder / "dist", make_key(folder / "key"), f"{address}/tandem"), f"{address}/tandem"


def test_each_image_has_its_list_of_packages_and_its_provenance(plain: Release) -> None:
    names = {path.name for path in plain.dist.iterdir()}
    assert {"tandem-core.oci.tar", "tandem-core-amd64.cdx.json", "tandem-core-arm64.cdx.json", "tandem-full.oci.tar"} <= names
    listed = json.loads((plain.dist / "tandem-core-amd64.cdx.json").read_text())
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", "tandem-core")
    found = {component["purl"].partition("?")[0] for component in listed["components"] if "purl" in component}
    assert {"pkg:deb/debian/hello@2.10-5", "pkg:pypi/six@1.17.0", "pkg:npm/leftpad@1.3.0"} <= found
    said = json.loads((plain.dist / "tandem-full.provenance.json").read_text())
    digest = plain.digests()[f"tandem:{VERSION}"].removeprefix("sha256:")
    assert said["subject"] == [{"name": f"tandem:{VERSION}", "digest": {"sha256": digest}}]
    build = said["predicate"]["buildDefinition"]
    assert build["externalParameters"] == {"tag": GIVEN["tag"], "variant": "full", "arguments": GIVEN["arguments"]}
    source, base, packages, *locks = build["resolvedDependencies"]
    assert source == {"name": "source", "uri": GIVEN["source"], "digest": {"gitCommit": GIVEN["commit"]}}
    assert (base["digest"], packages["uri"]) == ({"sha256": "d" * 64}, GIVEN["snapshot"])
    assert {"requirements/runtime.txt", "requirements/package-lock.json"} <= {lock["name"] for lock in locks}


def test_notes_are_the_versions_section_and_the_images(plain: Release) -> None:
    notes = (plain.dist / "notes.md").read_text()
    assert notes.startswith(f"## {VERSION} (")
    assert [line for line in notes.splitlines() if line.startswith("## ")] == [notes.splitlines()[0]]
    assert all(f"| `{name}` | `{digest}` |" in notes for name, digest in plain.digests().items())


def test_what_is_left_out_is_said_and_not_there(plain: Release) -> None:
    assert "release: left out: signatures, because COSIGN_KEY is not set\n" in plain.said
    assert "release: left out: deploy names the image by its digest with --push only\n" in plain.said
    assert not {"SHA256SUMS.sig", "cosign.pub"} & {path.name for path in plain.dist.iterdir()}
    assert (plain.dist / "deploy" / "compose.yaml").read_text() == (ROOT / "deploy" / "compose.yaml").read_text()


def test_the_same_images_give_the_same_files(plain: Release, tmp_path: Path) -> None:
    again = release(saved_images(tmp_path / "saved"), tmp_path / "dist")
    assert (again.dist / "SHA256SUMS").read_text() == (plain.dist / "SHA256SUMS").read_text()


def test_a_byte_that_changed_is_found(plain: Release, tmp_path: Path) -> None:
    tool("cp", "-r", plain.dist, tmp_path / "copy")
    assert tool("sha256sum", "--quiet", "--check", "SHA256SUMS", where=tmp_path / "copy").stdout == ""
    path = tmp_path / "copy" / "tandem-core.oci.tar"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "./tandem-core.oci.tar: FAILED" in tool("sha256sum", "--check", "SHA256SUMS", where=tmp_path / "copy", check=False).stdout


def test_the_python_clients_package_is_whole(plain: Release) -> None:
    (wheel,) = plain.dist.glob("*.whl")
    assert wheel.name == f"tandem_client-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        assert packed.read("tandem/seccomp.json") == (ROOT / "deploy/seccomp/tandem.json").read_bytes()


def test_the_hashes_are_signed_as_openssl_reads_it(pushed: tuple[Release, str], tmp_path: Path) -> None:
    dist = pushed[0].dist
    (tmp_path / "signature").write_bytes(base64.b64decode((dist / "SHA256SUMS.sig").read_text()))
    verify = ("openssl", "dgst", "-sha256", "-verify", dist / "cosign.pub", "-signature", tmp_path / "signature")
    assert tool(*verify, dist / "SHA256SUMS").stdout == "Verified OK\n"
    (tmp_path / "other").write_text((dist / "SHA256SUMS").read_text().replace("core", "c0re"))
    assert tool(*verify, tmp_path / "other", check=False).returncode != 0


def test_pushed_images_are_those_of_the_archives_and_signed(pushed: tuple[Release, str], tmp_path: Path) -> None:
    made, repository = pushed
    assert set(made.digests()) == {f"{repository}:{VERSION}-core", f"{repository}:{VERSION}"}
    other = make_key(tmp_path / "other").with_suffix(".pub")
    for name, digest in made.digests().items():
        assert tool("skopeo", "inspect", "--tls-verify=false", "--format", "{{.Digest}}", f"docker://{name}").stdout.strip() == digest
        verify = ("cosign", "verify", "--insecure-ignore-tlog=true", "--key")
        (claim,) = json.loads(tool(*verify, made.dist / "cosign.pub", name).stdout)
        assert claim["critical"]["image"]["docker-manifest-digest"] == digest
        assert tool(*verify, other, name, check=False).returncode != 0
        verify = ("cosign", "verify-attestation", "--insecure-ignore-tlog=true", "--key")
        for kind, count in (("slsaprovenance1", 1), ("cyclonedx", 2 if name.endswith("core") else 1)):
            envelopes = tool(*verify, made.dist / "cosign.pub", "--type", kind, name).stdout.splitlines()
            subjects = [json.loads(base64.b64decode(json.loads(envelope)["payload"]))["subject"] for envelope in envelopes]
            assert [subject[0]["digest"]["sha256"] for subject in subjects] == [digest.removeprefix("sha256:")] * count


def test_the_files_to_run_it_name_the_pushed_image_by_digest(pushed: tuple[Release, str]) -> None:
    made, repository = pushed
    image = f"{repository}@{made.digests()[f'{repository}:{VERSION}']}"
    compose = yaml.safe_load((made.dist / "deploy" / "compose.yaml").read_text())
    assert compose["services"]["sandbox"]["image"] == f"${{IMAGE:-{image}}}"
    parts = yaml.safe_load_all((made.dist / "deploy" / "kubernetes" / "base" / "sandbox.yaml").read_text())
    (pod,) = (part for part in parts if part["kind"] == "StatefulSet")
    assert pod["spec"]["template"]["spec"]["containers"][0]["image"] == image
    assert (made.dist / "deploy" / "seccomp" / "tandem.json").is_file()
