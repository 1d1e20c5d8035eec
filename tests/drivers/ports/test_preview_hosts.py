import pytest

from sandbox_server.drivers.ports.preview_hosts import preview_host


@pytest.mark.parametrize(
    ("gateway", "domain", "host"),
    [
        ("localhost:8080", None, "3000-preview.localhost:8080"),
        ("127.0.0.1", None, "3000-preview.localhost"),
        ("box.example:8080", None, None),
        ("box.example:8080", "preview.example", "3000-preview.example:8080"),
        ("box.example", "preview.example:8443", "3000-preview.example:8443"),
    ],
)
def test_a_port_has_a_host_of_its_own_where_one_is_known(gateway: str, domain: str | None, host: str | None) -> None:
    assert preview_host(3000, gateway, domain) == host
