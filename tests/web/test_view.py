"""The client of the stream: its pure parts under Node."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
NODE = "/opt/conformance/node"
FZSTD = "/opt/tandem/sandbox_server/web/vendor/fzstd.mjs"


@pytest.mark.parametrize("tests", ["view.test.mjs", "track.test.mjs"])
def test_the_decoders_agree_with_those_in_python(tests: str) -> None:
    node = NODE if os.access(NODE, os.X_OK) else shutil.which("node")
    assert node, "these tests need Node, which the image of the tests has: run scripts/test"

    done = subprocess.run(
        [node, "--test", tests],
        cwd=FOLDER,
        env=os.environ | {"FZSTD": FZSTD},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout
