import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from sandbox_server.core.openapi import document
from sandbox_server.core.operation import operations
from tests.sample import Sample, gateway, product, serving

KEY = "the key"
ROOT = Path(__file__).parent.parent.parent


class CommandLine(Protocol):
    """Runs `sandbox` as a process of its own."""

    def __call__(self, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]: ...


@pytest.fixture(scope="session")
def sample() -> Sample:
    """The feature that is served."""
    return Sample()


@pytest.fixture(scope="session")
def url(sample: Sample) -> Iterator[str]:
    """Where the sample is served, behind a gateway with a key."""
    with serving(gateway(product(sample), KEY)) as url:
        yield url


@pytest.fixture
def sandbox(url: str) -> CommandLine:
    """The command, told where the sample is."""

    def run(*words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SANDBOX_API_URL": url, "SANDBOX_TOKEN": KEY} | (env or {})
        return subprocess.run(
            [sys.executable, "-m", "sandbox_server.cli", *words], input=stdin, env=given, capture_output=True, timeout=60, check=False
        )

    return run


@pytest.fixture(scope="session")
def described() -> dict[str, object]:
    """The document of the sample."""
    return json.loads(json.dumps(document(operations(Sample()), title="Sample", version="1")))  # type: ignore[no-any-return]
