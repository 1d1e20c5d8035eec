"""What a sandbox is bound to, and who may change it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict, Failure, PreconditionFailed, PreconditionRequired
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.drivers.workload_identity.binding import BindingStore, SandboxBinding
from tests.identities import ACME

FREE = SandboxBinding(None, "t-1")


@pytest.fixture
def store(tmp_path: Path) -> BindingStore:
    return BindingStore(JsonFile(str(tmp_path / "identity.json")), None, lambda: 7.0)


def test_the_id_is_random_and_stays_over_a_restart(store: BindingStore, tmp_path: Path) -> None:
    other = BindingStore(JsonFile(str(tmp_path / "other.json")))

    assert BindingStore(JsonFile(str(tmp_path / "identity.json"))).sandbox_id != other.sandbox_id
    assert BindingStore(JsonFile(str(tmp_path / "identity.json"))).sandbox_id == store.sandbox_id
    assert len(store.sandbox_id) == 16


def test_an_id_of_the_settings_replaces_it(store: BindingStore, tmp_path: Path) -> None:
    assert store.sandbox_id != "pool-7"
    assert BindingStore(JsonFile(str(tmp_path / "identity.json")), "pool-7").sandbox_id == "pool-7"


def test_the_first_binding_needs_no_version(store: BindingStore, tmp_path: Path) -> None:
    assert (store.current.version, store.current.etag, store.current.bound_at) == (0, '"0"', None)
    bound = store.bind(ACME)

    assert (bound.tenant, bound.task, bound.labels, bound.bound_at, bound.etag) == ("acme", "t-1", {"team": "search"}, 7.0, '"1"')
    assert BindingStore(JsonFile(str(tmp_path / "identity.json"))).current == bound


def test_the_same_once_more_changes_nothing(store: BindingStore) -> None:
    assert store.bind(ACME) == store.bind(ACME)
    assert store.current.version == 1


def test_a_change_names_the_version_that_it_replaces(store: BindingStore) -> None:
    store.bind(ACME)
    with pytest.raises(PreconditionRequired):
        store.bind(SandboxBinding("acme", "t-2"))
    with pytest.raises(PreconditionFailed):
        store.bind(SandboxBinding("acme", "t-2"), '"0"')
    assert store.bind(SandboxBinding("acme", "t-2"), '"1"').etag == '"2"'
    assert store.bind(SandboxBinding("acme", "t-3"), "*").etag == '"3"'


@pytest.mark.parametrize("tenant", [None, "other"])
def test_a_tenant_is_never_changed_or_taken_away(store: BindingStore, tenant: str | None) -> None:
    store.bind(ACME)
    with pytest.raises(Conflict):
        store.bind(SandboxBinding(tenant, "t-1"), '"1"')
    assert store.current.tenant == "acme"


def test_a_task_can_come_before_the_tenant(store: BindingStore) -> None:
    store.bind(FREE)
    assert store.bind(SandboxBinding("acme", "t-1"), '"1"').tenant == "acme"


def test_of_many_who_bind_at_once_one_wins(store: BindingStore) -> None:
    def bind(number: int) -> str | None:
        try:
            return store.bind(SandboxBinding(f"tenant-{number}")).tenant
        except Failure:
            return None

    with ThreadPoolExecutor(16) as pool:
        won = [tenant for tenant in pool.map(bind, range(64)) if tenant]

    assert won == [store.current.tenant]
    assert store.current.version == 1


def test_a_forgotten_state_is_read_again_and_the_given_id_does_not_count(tmp_path: Path) -> None:
    store = BindingStore(JsonFile(str(tmp_path / "identity.json")), "pool-7")
    store.bind(ACME)
    (tmp_path / "identity.json").write_text('{"id": "copy-1"}')
    assert store.sandbox_id == "pool-7"
    store.forget()
    assert (store.sandbox_id, store.current.tenant) == ("copy-1", None)
