"""Snapshots: what the API does before one, and after one was restored under a new identity."""

from dataclasses import replace

from sandbox_server.composition.first import First
from sandbox_server.composition.gateway import tokens_of
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.recorder import known_secrets
from sandbox_server.drivers.snapshots.reseed import reseed
from sandbox_server.features.snapshots.operations import SnapshotOperations
from sandbox_server.settings import load_written


def build_snapshots(first: First) -> ProductPart:
    """Make the socket, and have everything that identifies the computer read again when it is bound."""
    machine, keeper, credentials = first.machine, first.control.keeper, first.gateway.credentials
    paths, state = machine.settings.paths, machine.snapshot

    def renew() -> None:
        written = replace(load_written(paths.environ), paths=paths)
        credentials.renew(tokens_of(written))
        first.recorder.redaction.learn(known_secrets(written))

    async def return_control() -> None:
        if holder := keeper.holding.holder:
            await keeper.expel(holder)

    state.when("bound", reseed)
    state.when("bound", machine.bindings.forget)
    state.when("bound", renew)
    state.when("bound", return_control)
    return ProductPart((), (SnapshotOperations(paths.socket("snapshot"), state, machine.bindings, first.recorder.journal),))
