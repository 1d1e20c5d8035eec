import stat
from pathlib import Path

from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority
from sandbox_server.drivers.secrets.trust_files import TrustFiles


def test_the_bundle_has_the_images_authorities_and_the_sandboxs_own(tmp_path: Path) -> None:
    system = tmp_path / "system.crt"
    image, first, second = (CertificateAuthority().pem for _ in range(3))
    system.write_text(image)
    files = TrustFiles(str(tmp_path), str(system))
    assert files.trust(None)
    assert not files.trust(None)
    assert Path(files.bundle).read_text() == image
    for pem in (first, second):
        assert files.trust(pem)
        assert not files.trust(pem)
        assert Path(files.bundle).read_text() == f"{image}{pem}"
        assert Path(files.authority).read_text() == pem
    assert stat.S_IMODE(Path(files.bundle).stat().st_mode) == 0o644


def test_an_image_without_authorities_has_the_sandboxs_alone(tmp_path: Path) -> None:
    files = TrustFiles(str(tmp_path), str(tmp_path / "missing"))
    files.trust("PEM\n")
    assert Path(files.bundle).read_text().strip() == "PEM"


def test_programs_with_bundles_of_their_own_are_pointed_at_it(tmp_path: Path) -> None:
    files = TrustFiles(str(tmp_path))
    assert files.environment()["REQUESTS_CA_BUNDLE"] == files.bundle
    assert files.environment()["NODE_EXTRA_CA_CERTS"] == files.authority
