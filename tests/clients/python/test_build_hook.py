import zipfile
from pathlib import Path

from sandbox_server import __version__
from tests.client_wheel import build_wheel

KIB = 1024


def test_a_wheel_has_what_is_generated_and_the_version_of_the_image(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    assert wheel.name == f"tandem_client-{__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 200 * KIB
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("api/handoffs.py", "_sync/sandbox.py", "_async/sandbox.py", "seccomp.json", "py.typed"):
        assert f"tandem/{name}" in names
