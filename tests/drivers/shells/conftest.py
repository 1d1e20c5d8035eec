import pytest

from tests.drivers.shells.ear import Ear


@pytest.fixture
def ear() -> Ear:
    return Ear()
