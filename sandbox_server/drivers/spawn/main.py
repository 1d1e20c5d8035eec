"""The spawner's process: its command line and its start."""

import argparse
import gc
import json
import os
from collections.abc import Sequence

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.box.spawner_link import SpawnerLink
from sandbox_server.drivers.files import worker
from sandbox_server.drivers.ipc.unix_listener import listen
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account
from sandbox_server.drivers.spawn.spawner import FileServer, Spawner
from sandbox_server.settings.paths import Paths


def serve(arguments: Sequence[str], serve_files: FileServer) -> None:
    """Run the spawner with command-line `arguments`. Its file workers run `serve_files`."""
    options = _parse(arguments)
    with open(options.environment, encoding="utf-8") as file:
        environment = json.load(file)
    root = os.geteuid() == 0
    agent = Account.named(options.agent) if root else Account.current()
    client = Account.named(options.client) if root else Account.current()
    accounts = {"agent": agent}
    if options.desktop:
        accounts["desktop"] = Account.named(options.desktop) if root else agent
    if options.allow_root:
        accounts["root"] = Account.named("root") if root else agent
    child_setup.allow_many_descriptors()
    link = SpawnerLink(options.box) if options.box else None
    if link:
        namespaces.forbid_tracing()
        namespaces.import_what_is_needed_later()
    gc.freeze()  # a forked child then copies fewer pages
    Spawner(
        listen(options.socket, client),
        accounts=accounts,
        environment=environment,
        allowed_uids=frozenset({0, client.uid}),
        serve_files=serve_files,
        link=link,
        limits={"data": options.max_memory} if options.max_memory else {},
        private=options.private,
        warm_process=options.warm_process,
    ).run()


def main(arguments: Sequence[str]) -> None:
    """Run the spawner as `python -m sandbox_server spawn` does."""
    serve(arguments, worker.serve)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("sandbox_server spawn", description="Start the agent's processes.")
    parser.add_argument("--socket", required=True, help="Unix socket to serve on")
    parser.add_argument("--environment", required=True, help="JSON file: the agent's base environment")
    parser.add_argument("--agent", default="gem", help="user that the agent's processes run as")
    parser.add_argument("--client", default="control", help="user that may ask for processes")
    parser.add_argument("--max-memory", type=int, default=0, help="bytes of memory that one process may use; 0: no limit of its own")
    parser.add_argument("--desktop", help='user that the display and the browser run as, asked for as "desktop"')
    parser.add_argument("--allow-root", action="store_true", help='honour requests for user "root"')
    parser.add_argument("--box", default=None, help="socket of the box daemon that everything starts in")
    parser.add_argument("--private", default=Paths().agent_run, help="directory that no isolated process may see")
    parser.add_argument("--warm-process", action="store_true", help="keep a process ready for the next program")
    return parser.parse_args(arguments)
