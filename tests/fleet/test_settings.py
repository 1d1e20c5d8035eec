"""What the environment says."""

from pathlib import Path

import pytest
from tandem_fleet.errors import InvalidError
from tandem_fleet.settings import Settings


def test_without_variables_the_state_is_in_the_home() -> None:
    settings = Settings.of({"HOME": "/home/someone"})
    assert settings.state == Path("/home/someone/.local/state/tandem")
    assert settings.store == "sqlite+aiosqlite:////home/someone/.local/state/tandem/default.db"
    assert (settings.image, settings.network, settings.url) == ("tandem", "", "")


def test_two_fleets_of_one_folder_share_neither_store_nor_socket_nor_lock() -> None:
    one, two = (Settings.of({"TANDEM_STATE": "/state", "TANDEM_FLEET": name}) for name in ("one", "two"))
    assert not {one.store, one.socket, one.lock} & {two.store, two.socket, two.lock}


@pytest.mark.parametrize("name", ["A", "a/b", "-a", "a" * 33, "ä"])
def test_a_fleet_with_another_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidError):
        Settings.of({"TANDEM_FLEET": name})


def test_without_variables_the_engine_is_docker() -> None:
    settings = Settings.of({})
    assert (settings.backend, settings.kubernetes.namespace, settings.kubernetes.volume_size) == ("docker", "tandem-sandboxes", "10Gi")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TANDEM_BACKEND", "podman"),
        ("TANDEM_PODS", "x"),
        ("TANDEM_WEBHOOK_NETWORKS", "10.0.0.1/8"),
        ("TANDEM_NAMESPACE", "a/b"),
        ("TANDEM_NAMESPACE", "A"),
        ("TANDEM_NAMESPACE", "a" * 64),
        ("TANDEM_VOLUME_SIZE", "0Gi"),
        ("TANDEM_VOLUME_SIZE", "10"),
        ("TANDEM_VOLUME_SIZE", "-1Gi"),
    ],
)
def test_a_value_that_no_cluster_takes_is_refused(variable: str, value: str) -> None:
    with pytest.raises(InvalidError, match=variable):
        Settings.of({variable: value})
