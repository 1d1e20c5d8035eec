"""The pages' modules under Node: every `*.test.mjs` of this folder, in one run."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
NODE = "/opt/conformance/node"
FILE_MILLISECONDS = 120_000  # for a test, and for a file
TIMEOUT = 300.0
OPTIONS = [
    *("--import", "./browser/loader.mjs"),
    *("--import", "./browser/ends_by_itself.mjs"),
    "--test",
    f"--test-concurrency={os.process_cpu_count()}",
    f"--test-timeout={FILE_MILLISECONDS}",
    "--test-reporter=tap",
]


@pytest.mark.limit(600)
def test_the_modules_of_the_pages_do_what_their_tests_say() -> None:
    node = NODE if os.access(NODE, os.X_OK) else shutil.which("node")
    assert node, "these tests need Node, which the image of the tests has: run scripts/test"
    files = sorted(str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.test.mjs"))

    done = subprocess.run(
        [node, *OPTIONS, *files],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert empty(done.stdout) == []


def empty(report: str) -> list[str]:
    """The files without a single test: Node counts a file like that as a test that passed, under the file's name."""
    return re.findall(r"^ok \d+ - (\S+\.test\.mjs)$", report, re.MULTILINE)
