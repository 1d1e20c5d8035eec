from collections.abc import Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One running container for all examples."""
    launcher = new_launcher("examples")
    try:
        yield launcher.start()
    finally:
        launcher.remove()
