import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import egress, egress_without_box
from sandbox_server.drivers.egress import container_rules, network_namespace
from sandbox_server.drivers.egress.network_namespace import EgressNamespace, NetworkNamespaceError
from sandbox_server.egress.daemon_link import DaemonLink
from sandbox_server.settings import AgentSettings, Paths, Settings
from sandbox_server.settings.egress import EgressSettings
from sandbox_server.settings.kinds import Secret

POLICY = Secret('{"default": "deny"}')


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def address_handed_out(settings: Settings) -> object:
    """Where the listener is that an egress process gets, which ends then."""
    link = DaemonLink(settings.paths.egress_socket("box"))
    held, _ = link.obtain()
    with socket.socket(fileno=os.dup(held.proxies[0])) as proxy:
        found = proxy.getsockname()
    held.close()
    assert link._sock
    link._sock.close()
    return found


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    paths, agent = Paths(egress=f"{tmp_path}/egress"), AgentSettings(workspace=f"{tmp_path}/work")
    return replace(Settings(), paths=paths, agent=agent, egress=EgressSettings(policy=POLICY, proxy_port=free_port()))


@pytest.fixture
def _no_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_rules, "may_make", lambda: False)


@pytest.mark.usefixtures("_no_rights")
def test_without_rights_a_policy_is_asked_by_a_proxy_and_without_a_policy_nothing_is(settings: Settings) -> None:
    assert egress_without_box.make(settings).enforcement == "proxy"
    assert egress_without_box.make(replace(settings, egress=EgressSettings())).enforcement == "off"


def test_switched_off_nothing_is_made(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_rules, "make", lambda _: pytest.fail("it made rules"))
    monkeypatch.setattr(container_rules, "may_make", lambda: True)
    assert egress_without_box.make(replace(settings, egress=EgressSettings(enabled=False, policy=POLICY))).enforcement == "off"


def test_with_rights_the_rules_exempt_the_sandboxs_own_users_and_the_rights_go(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def make(exempt: str) -> EgressNamespace:
        done.append(exempt)
        return network_namespace.listen_as_proxy(0)

    monkeypatch.setattr(container_rules, "may_make", lambda: True)
    monkeypatch.setattr(container_rules, "make", make)
    monkeypatch.setattr(container_rules, "give_up_rights", lambda: done.append("gave up"))
    assert egress_without_box.make(replace(settings, egress=EgressSettings())).enforcement == "rules"
    assert done == ["meta skuid { 0, 990, 992 }", "gave up"]


def test_rules_that_the_kernel_refuses_leave_the_proxy_and_are_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(_: str) -> EgressNamespace:
        raise NetworkNamespaceError("the kernel does not take the rules: no nf_tables")

    monkeypatch.setattr(container_rules, "may_make", lambda: True)
    monkeypatch.setattr(container_rules, "make", make)
    assert egress_without_box.make(settings).enforcement == "proxy"
    assert "not enforced: the kernel does not take the rules: no nf_tables" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away, which needs root")
@pytest.mark.usefixtures("_no_rights")
def test_each_egress_process_gets_the_same_listener_which_nobody_can_take_meanwhile(settings: Settings) -> None:
    ports = egress_without_box.make(settings)
    egress.prepare(settings)
    pid = ports.keep(settings)
    assert pid
    try:
        for _ in range(2):
            assert address_handed_out(settings) == ("127.0.0.1", settings.egress.proxy_port)
            with pytest.raises(OSError, match="in use"):
                socket.create_server(("127.0.0.1", settings.egress.proxy_port))
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
