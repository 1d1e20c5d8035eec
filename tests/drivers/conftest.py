"""What the drivers' tests share: a real box."""

from collections.abc import Iterator

import pytest

from tests.boxes import VOLUME, BoxDaemons, Until


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory, until: Until) -> Iterator[BoxDaemons]:
    """A box of this test's own, running."""
    yield from _started(tmp_path_factory, until)


@pytest.fixture(scope="session")
def shared_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoxDaemons]:
    """One box, for every test that leaves it as it was."""
    from tests.conftest import until

    yield from _started(tmp_path_factory, until)


def _started(tmp_path_factory: pytest.TempPathFactory, until: Until) -> Iterator[BoxDaemons]:
    if not VOLUME.is_dir():
        pytest.fail("these tests need a volume at /sandbox: run scripts/test")
    folder = tmp_path_factory.mktemp("box")
    folder.chmod(0o755)
    daemons = BoxDaemons(folder, until)
    daemons.start()
    yield daemons
    daemons.stop()
