"""The TypeScript client from its tarball: its modules under each Node.js of the image, its types, and what is in it."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server import __version__
from tests.client_tarball import NODES, installed_tarball

HERE = Path(__file__).parent
TESTS = sorted(HERE.glob("*.test.mjs"))
SOURCES = HERE.parents[2] / "clients" / "typescript" / "src"
WITHOUT_TESTS = {"index", "schema", "page", "files", "checkpoint", "container", "view", "react"}
"""What tests/image/test_client_typescript.py and tests/pages/test_client_view.py try with a real sandbox, or what has no code, and
`react`, of which only the types are checked.
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with installed_tarball() as made:
        yield made


@pytest.mark.parametrize("version", ["20", "22", "24"])
@pytest.mark.parametrize("test", TESTS, ids=lambda path: path.name)
def test_a_module(folder: Path, test: Path, version: str) -> None:
    shutil.copy(HERE / "fake_server.mjs", folder)
    copied = shutil.copy(test, folder)
    command = [str(NODES / version / "bin/node"), "--test", str(copied)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_module_is_tried() -> None:
    modules = {path.stem for path in SOURCES.glob("*.ts")}
    assert {path.name.removesuffix(".test.mjs") for path in TESTS} == modules - WITHOUT_TESTS


def test_the_types_refuse_what_the_server_would(folder: Path) -> None:
    shutil.copy(HERE / "types.ts", folder)
    options = {"target": "ES2022", "module": "NodeNext", "lib": ["ES2023", "DOM", "ESNext.Disposable"], "strict": True, "noEmit": True}
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": {**options, "types": ["node"]}, "files": ["types.ts"]}))
    compiler = ["/opt/client-typescript/node_modules/typescript/bin/tsc", "--project", str(folder)]
    done = subprocess.run([NODES / "22/bin/node", *compiler], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_the_package_is_of_the_images_version_and_needs_nothing(folder: Path) -> None:
    package = folder / "node_modules" / "tandem-client"
    manifest = json.loads((package / "package.json").read_text())
    assert manifest["version"] == __version__
    assert "dependencies" not in manifest
    for entry in manifest["exports"].values():
        assert all((package / path).is_file() for path in entry.values())
    assert (package / "dist/web/stream/worker.js").is_file()
    assert not (package / "src").exists()
