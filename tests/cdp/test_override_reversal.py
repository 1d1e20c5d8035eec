"""How what a client has put in force is taken off."""

import json
import os
from pathlib import Path

import pytest

from sandbox_server.cdp.methods import METHODS
from sandbox_server.cdp.override_reversal import AGAIN, UNDONE

PROTOCOL = Path(os.environ.get("DEVTOOLS_PROTOCOL", "/opt/tandem/devtools-protocol.json"))


def test_whatever_stays_in_force_can_be_taken_off() -> None:
    lasting = {name for name, method in METHODS.items() if method.effect == "lasts"}
    assert lasting - UNDONE.keys() == set(), "say in sandbox_server/cdp/override_reversal.py how they are taken off"
    assert UNDONE.keys() - lasting == {"Debugger.enable"}


def test_reversals_use_only_methods_and_parameters_of_this_browser() -> None:
    if not PROTOCOL.exists():
        pytest.skip("the protocol's description is in the image")
    domains = json.loads(PROTOCOL.read_text("utf-8"))["domains"]
    described = {
        f"{domain['domain']}.{command['name']}": {each["name"] for each in command.get("parameters", [])}
        for domain in domains
        for command in domain.get("commands", [])
    }
    for name, undone in UNDONE.items():
        for method, params in (*undone.off, *undone.back):
            assert method == AGAIN or params.keys() <= described[method], f"{name}: {method}"
        assert {*undone.key, *undone.carried} <= described[name], name
        if undone.off:
            assert set(undone.carried) <= described[undone.off[0][0]], name
