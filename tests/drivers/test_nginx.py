"""The directives of the gateway that depend on settings."""

from pathlib import Path

from sandbox_server.drivers.nginx import body, has_ipv6, listen, origins, published, published_places, upstreams
from sandbox_server.settings import GatewaySettings


def test_both_families_are_bound_where_there_is_ipv6() -> None:
    assert listen(GatewaySettings(), has_ipv6=True) == "listen 0.0.0.0:8080;\nlisten [::]:8080 ipv6only=on;\nlimit_conn outside 1024;\n"


def test_an_address_may_have_any_number_of_connections_where_it_is_said_so() -> None:
    assert "limit_conn" not in listen(GatewaySettings(address_connections=0), has_ipv6=False)


def test_the_largest_body_is_the_servers() -> None:
    assert body(GatewaySettings(max_body_bytes=5)) == "client_max_body_size 5;\n"


def test_without_ipv6_only_ipv4_is_bound() -> None:
    assert "[" not in listen(GatewaySettings(port=9000), has_ipv6=False)


def test_ipv6_is_there_when_an_interface_has_an_address(tmp_path: Path) -> None:
    assert not has_ipv6(str(tmp_path))
    (tmp_path / "if_inet6").write_text("")
    assert not has_ipv6(str(tmp_path))
    (tmp_path / "if_inet6").write_text("00000000000000000000000000000001 01 80 10 80       lo\n")
    assert has_ipv6(str(tmp_path))


def test_an_editor_is_where_it_is_said() -> None:
    found = upstreams({"jupyter": 9001, "code-server": 8200})

    assert "upstream jupyter { server 127.0.0.1:9001 " in found
    assert "upstream code-server { server 127.0.0.1:8200 " in found


def test_without_a_setting_no_other_site_is_known() -> None:
    closed = origins(())
    assert "http" not in closed.replace("$http_origin", "")
    assert closed.count('default "";') == 2
    assert "default \"'self'\";" in closed


def test_an_origin_that_is_named_may_read_answers_and_frame_pages() -> None:
    found = origins(["https://app.example.org", "http://localhost:9123"])
    assert '    "https://app.example.org" "https://app.example.org";' in found
    assert "default \"'self' https://app.example.org http://localhost:9123\";" in found
    assert 'default "Origin";' in found


def test_a_published_port_leads_to_either_family_of_the_boxs_loopback() -> None:
    found = published([3000], has_ipv6=True)

    assert "listen 0.0.0.0:3000; listen [::]:3000 ipv6only=on; proxy_pass published_3000;" in found
    assert "server 127.0.0.1:3000 max_fails=0; server [::1]:3000 backup" in found
    assert published([], has_ipv6=True) == ""


def test_published_ports_are_bound_where_the_servers_listen() -> None:
    assert published_places([80, 81], has_ipv6=True) == ["0.0.0.0:80", "[::]:80", "0.0.0.0:81", "[::]:81"]
    assert published_places([80], has_ipv6=False) == ["0.0.0.0:80"]
