"""The identity's features on real drivers."""

from pathlib import Path

import pytest

from tests.identities import Identity


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return Identity(tmp_path)
