"""A folder of its own, and the engine in memory in place of Docker."""

from pathlib import Path

import pytest
from tandem_fleet.api import service
from tandem_fleet.settings import Settings

from tests.fleet.engines import MemoryBackend


@pytest.fixture
def settings(engine: MemoryBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """What the command line is told."""
    monkeypatch.setattr(service, "DockerBackend", lambda *_, **__: engine)
    return Settings.of({"TANDEM_STATE": str(tmp_path / "state"), "TANDEM_IMAGE": "image"})
