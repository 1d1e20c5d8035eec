"""What Caddy is told."""

import json
from pathlib import Path

from tandem_fleet.gateway.caddy_config import Listening, configuration
from tandem_fleet.gateway.tls_config import Acme, Files


def test_it_has_no_door_of_its_own_and_asks_before_it_passes_anything_on() -> None:
    made = configuration(Listening("fd/7", 7780, None), Path("/x/fleet.sock"), Path("/x/storage"))
    assert made["admin"]["disabled"]
    server = made["apps"]["http"]["servers"]["gateway"]
    asked = [json.dumps(route).find("/v1/gateway/authorize") >= 0 for route in server["routes"]]
    forwards = [json.dumps(route).find("gateway_upstream}") >= 0 for route in server["routes"]]
    assert asked.index(True) < forwards.index(True)
    assert "tls" not in made["apps"]
    assert json.loads(json.dumps(made)) == made


def test_certificates_make_the_public_port_speak_tls() -> None:
    files, acme = Files(Path("/c.pem"), Path("/k.pem")), Acme("a@b.test")
    for one, servers in ((files, {"gateway"}), (acme, {"gateway", "questions"})):
        listening = Listening("fd/7", 7780, one, "fd/8", "http://127.0.0.1:9/secret")
        apps = configuration(listening, Path("/x/fleet.sock"), Path("/x/storage"))["apps"]
        assert apps["http"]["servers"].keys() == servers
        assert apps["http"]["servers"]["gateway"]["tls_connection_policies"] == [{}]
        assert "tls" in apps
