"""The commands of `python -m sandbox_server`: the processes of the container, and tools for people.

Each command imports what it needs when it runs: boot and the spawner must stay small.
"""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox_server import __version__


def boot(_: argparse.Namespace) -> None:
    """Start the container: check the settings, prepare the machine, run the services."""
    from sandbox_server.boot import early_start, entrypoint

    api = early_start.start("api", early_start.configuration("api"))
    from sandbox_server.boot import sequence

    sequence.boot(entrypoint.take(os.environ), api)


def serve(_: argparse.Namespace) -> None:
    """Serve the operations on the API's socket."""
    from sandbox_server import app
    from sandbox_server.boot import program_zygote
    from sandbox_server.boot.readiness_gate import ReadinessGate
    from sandbox_server.boot.sign_in import announce
    from sandbox_server.settings import load_written

    gate = ReadinessGate.inherited()
    if words := program_zygote.leave_behind():
        main(words)
        return

    def whole() -> None:
        gc.freeze()  # imported objects stay: do not scan them for garbage again
        gate.close()

    gate.wait()
    settings = load_written()
    announce(settings)
    app.serve(settings, new=gate.given, whole=whole)


def spawn(_: argparse.Namespace) -> None:
    """Start the agent's processes for the other processes."""
    from sandbox_server.drivers.box import isolation
    from sandbox_server.drivers.spawn import main
    from sandbox_server.settings import Paths, load_written

    settings = load_written(Paths().public_environ)
    arguments = ["--socket", settings.paths.socket("spawn"), "--environment", settings.paths.agent_environ]
    arguments += ["--agent", settings.agent.user, "--client", settings.users.control, "--desktop", settings.users.desktop]
    arguments += ["--max-memory", str(settings.box.max_memory), "--warm-process"]
    found = isolation.read(settings.paths.isolation)
    arguments += ["--box", settings.paths.socket("box")] if found.level == "box" else []
    main.main(arguments + ["--allow-root"] * (settings.agent.sudo and not found.root_withheld))


def box(_: argparse.Namespace) -> None:
    """Run the box daemon."""
    from sandbox_server.boot.box_arguments import box_arguments
    from sandbox_server.drivers.box import isolation, main
    from sandbox_server.settings import Paths, load_written

    settings = load_written(Paths().public_environ)
    main.serve(box_arguments(settings) + ["--memory"] * (isolation.read(settings.paths.isolation).storage == "memory"))


def egress(_: argparse.Namespace) -> None:
    """Relay what leaves the box, by the policy."""
    from sandbox_server.egress import app
    from sandbox_server.settings import Paths

    paths = Paths()
    arguments = ["--daemon", paths.egress_socket("box"), "--control", paths.egress_socket("control")]
    arguments += ["--fetches", paths.egress_socket("fetches"), "--upstream", f"{paths.egress}/upstream.json"]
    arguments += ["--private", f"{paths.egress}/private.json"]
    app.serve([*arguments, "--policy", paths.egress_policy, "--names", f"{paths.egress}/names"])


def box_network(options: argparse.Namespace) -> None:
    """Run a program of the control side in the box's network."""
    from sandbox_server.drivers import nginx
    from sandbox_server.drivers.box import network_entry
    from sandbox_server.settings import Paths, load_written

    settings = load_written(Paths().public_environ)
    arguments = ["--box", settings.paths.socket("box"), "--user", options.user]
    if options.published:
        places = nginx.published_places(settings.box_ports.published, has_ipv6=nginx.has_ipv6())
        arguments += [word for place in places for word in ("--listen", place)]
    network_entry.run([*arguments, "--", *options.argv])


def egress_container(_: argparse.Namespace) -> None:
    """Decide on the connections of another container, which shares this one's network."""
    from sandbox_server.boot import egress_container as container
    from sandbox_server.settings import load

    container.run(load(os.environ))


def mcp(_: argparse.Namespace) -> None:
    """Serve the Model Context Protocol on its socket."""
    from sandbox_server.mcp import on_demand
    from sandbox_server.settings import load_written

    on_demand.serve(load_written(), __version__)


def cdp(_: argparse.Namespace) -> None:
    """Own the browser, and multiplex its DevTools for many clients."""
    from sandbox_server.cdp import app as cdp_app
    from sandbox_server.settings import load_written

    cdp_app.serve(load_written())


def stream(_: argparse.Namespace) -> None:
    """Show the screen to viewers, and let them act on it."""
    from sandbox_server.settings import load_written
    from sandbox_server.stream import app as stream_app

    stream_app.serve(load_written())


def desktop(_: argparse.Namespace) -> None:
    """Prepare the screen and become its window manager."""
    from sandbox_server.boot import window_manager as session
    from sandbox_server.settings import load

    settings = load(os.environ)
    session.run(settings.display, Path(settings.paths.screen_prepared))


def guests(_: argparse.Namespace) -> None:
    """Connect the agent's programs to the display, as untrusted X clients."""
    from sandbox_server.drivers.x11.untrusted_clients import UntrustedClients, listen
    from sandbox_server.settings import load

    settings = load(os.environ)
    display = settings.display
    UntrustedClients(display.name, display.socket, trusted=display.trust_shells).serve(listen(settings.paths.guest_socket(display.name)))


def hooks(_: argparse.Namespace) -> None:
    """Run RUN_HOOK_INIT and RUN_HOOK_PRE_SERVICES; exits with 1 if one of them failed."""
    from sandbox_server.boot import lifecycle_hooks
    from sandbox_server.settings import load_written

    if not lifecycle_hooks.before_services(load_written()):
        raise SystemExit(1)


def post_ready(_: argparse.Namespace) -> None:
    """Wait until every component is ready, then run RUN_HOOK_POST_READY."""
    from sandbox_server.boot import lifecycle_hooks
    from sandbox_server.settings import load_written

    lifecycle_hooks.post_ready(load_written())


def shutdown(_: argparse.Namespace) -> None:
    """Run the shutdown hooks."""
    from sandbox_server.boot import lifecycle_hooks
    from sandbox_server.settings import load_written

    lifecycle_hooks.shutdown(load_written())


def sign_in(options: argparse.Namespace) -> None:
    """Print a link that signs a browser in, once."""
    from sandbox_server.boot.sign_in import create
    from sandbox_server.settings import load_written

    sys.stdout.write(f"{create(load_written(), options.url)}\n")


def snapshot(options: argparse.Namespace) -> None:
    """Prepare for a snapshot of the whole memory, release its origin, or bind a copy to an identity of its own; as root."""
    from sandbox_server.boot import snapshot as boot_snapshot
    from sandbox_server.settings import load_written

    boot_snapshot.run(options.what, load_written, token=options.token, given=sys.stdin.buffer)


def plugins(options: argparse.Namespace) -> None:
    """Check what this image has added: operations, services, routes and MCP servers."""
    from sandbox_server.plugins import checks
    from sandbox_server.settings.paths import Paths

    checks.run(Paths(), as_json=options.json)


def generate(options: argparse.Namespace) -> None:
    """Write the generated files that are committed."""
    from pathlib import Path

    from sandbox_server import generate as generated

    stale = generated.refresh(Path.cwd(), check=options.check)
    for name in stale:
        sys.stdout.write(f"{name} {'is out of date: run scripts/generate' if options.check else 'written'}\n")
    if stale and options.check:
        raise SystemExit(1)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser("sandbox", description="One Linux computer, shared by an agent and a person.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        described = commands.add_parser(name, help=run.__doc__)
        described.set_defaults(run=run)
        return described

    add("boot", boot)
    add("serve", serve)
    add("box", box)
    entering = add("box-network", box_network)
    entering.add_argument("--user", required=True, help="user that it runs as")
    entering.add_argument("--published", action="store_true", help="let it accept connections to PUBLISHED_PORTS")
    entering.add_argument("argv", nargs="+", help="the program and its arguments")
    add("egress", egress)
    add("egress-container", egress_container)
    add("spawn", spawn)
    add("mcp", mcp)
    add("cdp", cdp)
    add("stream", stream)
    add("desktop", desktop)
    add("guests", guests)
    add("hooks", hooks)
    add("post-ready", post_ready)
    add("shutdown", shutdown)
    add("sign-in", sign_in).add_argument("--url", default="", help="where the person reaches the gateway, as in http://localhost:8080")
    preparing = add("snapshot", snapshot)
    preparing.add_argument("what", choices=["prepare", "release", "bind"], help="bind reads JSON from its standard input")
    preparing.add_argument("--token", default="", help="what prepare printed, for release")
    checking = add("plugins", plugins)
    checking.add_argument("what", choices=["check"], help="what to do with them")
    checking.add_argument("--json", action="store_true", help="write JSON")
    add("generate", generate).add_argument("--check", action="store_true", help="write nothing; fail if something is out of date")
    return top


def main(arguments: Sequence[str]) -> None:
    """Run one command."""
    options = parser().parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main(sys.argv[1:])
