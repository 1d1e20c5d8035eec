"""The box daemon's process: its command line and its start."""

import argparse
import os
import sys
from collections.abc import Sequence

from sandbox_server.drivers.box import mount_plan, namespaces, trust_links
from sandbox_server.drivers.box.box_network import BoxNetwork
from sandbox_server.drivers.box.daemon import BoxDaemon
from sandbox_server.drivers.box.layer_store import BoxStore
from sandbox_server.drivers.box.lifecycle import BoxLifecycle, find
from sandbox_server.drivers.box.limit_monitor import MonitoredLimits
from sandbox_server.drivers.box.mount_plan import Part
from sandbox_server.drivers.box.tree_walk import remove
from sandbox_server.drivers.egress.network_namespace import RESOLVER
from sandbox_server.drivers.ipc.unix_listener import listen
from sandbox_server.drivers.spawn.child_setup import Account
from sandbox_server.drivers.stats import cgroup


def serve(arguments: Sequence[str]) -> None:
    """Run the daemon with command-line `arguments`."""
    options = parse(arguments)
    client = Account.named(options.client)
    store = BoxStore(options.store)
    listener = listen(options.socket, client)
    namespaces.forbid_tracing()
    found = find(options.record)
    network = BoxNetwork(options.egress_port) if options.egress else None
    served = listen(options.egress, Account.named(options.egress_user)) if options.egress else None
    if found and not options.memory:
        os.setns(found[0].user, os.CLONE_NEWUSER)
        store.prepare()
        parts = found[1]
        if network:
            network.take_over(found[0].network)
    else:
        if found:  # its files were in the memory of a daemon that is gone
            found[0].kill()
            found = None
        namespaces.leave_user_namespace()
        if options.memory:
            namespaces.mount_memory(options.store)
        if network:
            network.create()
        parts = prepare(store, options)
    limits = MonitoredLimits(options.processes, options.max_memory or cgroup.snapshot().mem_max_bytes, enforced=options.max_memory > 0)
    lifecycle = BoxLifecycle(store, parts, options.agent_run, options.desktop_sockets, options.record, limits, network)
    if found:
        lifecycle.take_over(found[0], paused=found[2])
    daemon = BoxDaemon(listener, lifecycle, store, peers=frozenset({0, client.uid}), quota=options.quota)
    if network and served:
        network.serve(served, frozenset({0, Account.named(options.egress_user).uid}), daemon.poller, daemon.end_box)
    daemon.run()


def prepare(store: BoxStore, options: argparse.Namespace) -> list[Part]:
    """Prepare the store, on a full disk too: what an earlier container left for removal goes first."""
    resolver = RESOLVER if options.egress else None
    store.prepare()
    base = store.make_base()
    if not store.reserve.held:
        remove(store.leftovers())
    for path in filter(mount_plan.is_system, options.shared):
        sys.stderr.write(f"box: {path} is part of the system, and stays in checkpoints\n")
    kept_out = [path for path in options.shared if os.path.isdir(path) and not mount_plan.is_system(path)]
    parts = mount_plan.prepare(base, hidden=[store.folder], sudo_user=options.sudo_user, shared=kept_out, resolver=resolver)
    if resolver:
        trust_links.link(parts)
    os.makedirs(base + mount_plan.X_SOCKETS, exist_ok=True)  # below the layers, so that it is no change of the agent's
    return parts


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser("sandbox_server box", description="Keep the agent's box.")
    parser.add_argument("--socket", required=True, help="Unix socket to serve on")
    parser.add_argument("--store", required=True, help="directory for the box's files, on a filesystem that can hold layers")
    parser.add_argument("--record", required=True, help="file that tells the next daemon which box runs")
    parser.add_argument("--agent-run", required=True, help="directory that the box sees too, read-only")
    parser.add_argument("--desktop-sockets", default="", help="directory in which programs on the desktop find the X server")
    parser.add_argument("--client", default="control", help="user that may ask")
    parser.add_argument("--sudo-user", default=None, help="user who may become root in the box")
    parser.add_argument("--processes", type=int, default=1024, help="processes and threads that may be in the box at once")
    parser.add_argument("--max-memory", type=int, default=0, help="bytes of memory that the agent may use; 0: what the container has")
    parser.add_argument("--shared", action="append", default=[], help="directory that is in no checkpoint")
    parser.add_argument("--memory", action="store_true", help="keep everything in memory, because the directory cannot hold layers")
    parser.add_argument("--egress", help="Unix socket for the egress process; without it the box has the container's network")
    parser.add_argument("--egress-user", default="egress", help="user that the egress process runs as")
    parser.add_argument(
        "--egress-port", type=int, action="append", default=[], help="port of the box's loopback that leads to the container's"
    )
    parser.add_argument("--quota", type=int, default=10 << 30, help="bytes that checkpoints may take together")
    return parser.parse_args(arguments)
