"""Who may serve a fleet, and on what."""

import sys
from pathlib import Path

import pytest
from tandem_fleet.api.service import _backend, claimed
from tandem_fleet.backends.docker import DockerBackend
from tandem_fleet.backends.kubernetes.kubernetes_backend import KubernetesBackend
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.settings import Settings
from tandem_fleet.signing_key import SigningKey


def test_a_lock_is_free_again_when_its_holder_ends(tmp_path: Path) -> None:
    settings = Settings.of({"TANDEM_STATE": str(tmp_path)})
    for _ in range(2):
        with claimed(settings), pytest.raises(ConflictError), claimed(settings):
            pass


def test_fleets_of_one_folder_do_not_lock_each_other(tmp_path: Path) -> None:
    one, two = (Settings.of({"TANDEM_STATE": str(tmp_path), "TANDEM_FLEET": name}) for name in ("one", "two"))
    with claimed(one), claimed(two):
        pass


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "kind"), [("docker", DockerBackend), ("kubernetes", KubernetesBackend)])
async def test_the_engine_is_the_one_of_the_settings(name: str, kind: type, tmp_path: Path) -> None:
    backend = _backend(Settings.of({"TANDEM_BACKEND": name}), SigningKey.kept(tmp_path / "key.pem"))
    assert isinstance(backend, kind)
    await backend.close()


def test_an_engine_whose_package_is_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("client", "kubernetes_backend"):
        monkeypatch.delitem(sys.modules, f"tandem_fleet.backends.kubernetes.{module}")
    monkeypatch.setitem(sys.modules, "kubernetes_asyncio.client", None)
    with pytest.raises(InvalidError, match=r"tandem-fleet\[kubernetes\]"):
        _backend(Settings.of({"TANDEM_BACKEND": "kubernetes"}), SigningKey.kept(tmp_path / "key.pem"))
