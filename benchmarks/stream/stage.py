"""The containers of a measurement: the product and the peers beside it, and the viewer, with a link between the two sides."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.stream.ways import Way

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
AUTHORITY = "/run/sandbox-desktop/authority"
X11VNC = "x11vnc -display :99 -forever -shared -nopw -quiet -rfbport 0 -unixsock /run/sandbox-desktop/vnc.sock"
DESKTOP_USER = "991:991"
"""Who owns the product's X server: it takes shared memory from no other user than its own."""
BESIDE_THE_LINK = "ip rule add ipproto udp dport 7800 lookup main priority 100 && ip rule add ipproto udp to {0} blackhole priority 101"
"""What of UDP may pass by the link: the link itself."""
END = """others() { pgrep -v -x 'tini|sleep|sh'; }
kill -TERM $(others); for _ in $(seq 30); do others >/dev/null || exit 0; sleep 0.1; done; kill -KILL $(others)"""
"""Ends all that runs in a container beside the product, but what keeps that up."""
MTU = 2000
"""Bytes: packets of 1500 go over the link whole, inside of others."""
SERVE_SECONDS = 30.0
COMMAND_SECONDS = 120.0
ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What ends a run."""
SETTLE_SECONDS = 2.0


@contextmanager
def whole() -> Iterator[None]:
    """What is made here is made whole before a signal ends the run, so that it is found and removed."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class Stage:
    """The containers, each by what it is for: server and client are the two ends of the link, each with a network of its own."""

    engine: str
    image: str
    name: str
    key: str

    def run(self, *words: str) -> str:
        """What the engine says to a command."""
        found = subprocess.run([self.engine, *words], capture_output=True, text=True, check=True, timeout=COMMAND_SECONDS)
        return str(found.stdout)

    def start(self) -> None:
        """Start them, and wait until the product is ready."""
        subnet = self._network()
        display = ["--volume", f"{self.name}-x11:/tmp/.X11-unix"]
        tools = ["--cap-add", "NET_ADMIN", "--device", "/dev/net/tun", "--network", self.name, "--volume", f"{HERE}:/bench:ro"]
        for side, more in (("server", display), ("client", ["--ipc", "shareable"])):
            self._create(side, *tools, *more, "--shm-size", "1g", f"{self.image}:test", "sleep", "infinity")
            self.run("exec", f"{self.name}-{side}", "sh", "-c", BESIDE_THE_LINK.format(subnet))
        self.run("exec", f"{self.name}-server", "chmod", "1777", "/tmp/.X11-unix")
        profile = ROOT / "deploy" / "seccomp" / "tandem.json"
        guarded = ["--security-opt", f"seccomp={profile}", "--security-opt", "systempaths=unconfined", "--cap-drop", "NET_RAW"]
        given = ["--env", f"SANDBOX_API_KEY={self.key}", "--env", "STREAM_UDP_PORT=8443", "--volume", f"{HERE}:/bench:ro"]
        given += [*display, "--ipc", "shareable", "--shm-size", "1g", "--pids-limit", "4096"]
        self._create("product", "--network", f"container:{self.name}-server", *guarded, *given, self.image)
        for _ in range(120):
            if self.inside("curl", "-fsS", "http://127.0.0.1:8080/readyz", check=False).returncode == 0:
                return
            time.sleep(0.5)
        raise RuntimeError("the product is not ready")

    def _network(self) -> str:
        with whole():
            self.run("network", "create", "--opt", f"com.docker.network.driver.mtu={MTU}", self.name)
            self.run("volume", "create", f"{self.name}-x11")
        return self.run("network", "inspect", "--format", "{{(index .IPAM.Config 0).Subnet}}", self.name).strip()

    def _create(self, what: str, *words: str) -> None:
        with whole():
            self.run("run", "--detach", "--name", f"{self.name}-{what}", *words)

    def start_peers(self) -> set[str]:
        """Start the containers of other servers and viewers, and say what is in them."""
        built = subprocess.run(
            [ROOT / "scripts" / "build", "peers"], env=os.environ | {"PROGRESS": "plain"}, capture_output=True, check=False
        )
        if built.returncode:
            raise RuntimeError(built.stderr[-2000:].decode(errors="replace"))
        product = ["--network", f"container:{self.name}-server", "--ipc", f"container:{self.name}-product"]
        display = ["--volume", f"{self.name}-x11:/tmp/.X11-unix", "--user", DESKTOP_USER, "--env", "DISPLAY=:99", "--env", "HOME=/tmp"]
        self._create("peers", *product, *display, "--env", "XAUTHORITY=/tmp/authority", f"{self.image}:peers", "sleep", "infinity")
        cookie = subprocess.run([self.engine, "exec", f"{self.name}-product", "cat", AUTHORITY], capture_output=True, check=True).stdout
        self.give("peers", "/tmp/authority", cookie)
        client = ["--network", f"container:{self.name}-client", "--ipc", f"container:{self.name}-client", "--env", "DISPLAY=:91"]
        self._create("viewers", *client, f"{self.image}:peers", "sleep", "infinity")
        return set(self.run("exec", f"{self.name}-peers", "ls", "/peers").split())

    def inside(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a command in the product's container."""
        argv = [self.engine, "exec", f"{self.name}-product", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=check, timeout=COMMAND_SECONDS)

    def give(self, what: str, path: str, content: bytes) -> None:
        """Write a file in a container."""
        words = [self.engine, "exec", "--interactive", f"{self.name}-{what}", "sh", "-c", f"cat >{path}"]
        subprocess.run(words, input=content, check=True, timeout=COMMAND_SECONDS)

    def kill(self, what: str, pattern: str) -> None:
        """End a program in a container, if it runs."""
        words = [self.engine, "exec", f"{self.name}-{what}", "pkill", "-f", pattern]
        subprocess.run(words, capture_output=True, check=False, timeout=COMMAND_SECONDS)

    def sweep(self, what: str) -> None:
        """End all that runs in a container, but what keeps that up."""
        words = [self.engine, "exec", f"{self.name}-{what}", "sh", "-c", END]
        subprocess.run(words, capture_output=True, check=False, timeout=COMMAND_SECONDS)

    def install_x11vnc(self) -> bool:
        """Install x11vnc beside the product; whether it could be had."""
        script = "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qqy install --no-install-recommends x11vnc"
        return self.inside("sh", "-c", script, check=False).returncode == 0

    @contextmanager
    def serving(self, name: str, way: Way) -> Iterator[None]:
        """The server that this way of showing has, for as long as the context. Raises RuntimeError if it does not listen."""
        if name == "x11vnc":
            with self._x11vnc():
                yield
        elif way.serve:
            with self._peer("peers", way.serve):
                self._wait_for(way.port)
                yield
        else:
            yield

    @contextmanager
    def viewing(self, way: Way) -> Iterator[None]:
        """The viewer that this way of showing has beside a browser, for as long as the context."""
        if not way.viewer:
            yield
            return
        with self._peer("viewers", way.viewer):
            yield

    @contextmanager
    def _x11vnc(self) -> Iterator[None]:
        env = ["--env", f"XAUTHORITY={AUTHORITY}", "--user", "desktop"]
        self.inside("sh", "-c", "pkill -STOP -x X0tigervnc; rm -f /run/sandbox-desktop/vnc.sock")
        words = [self.engine, "exec", *env, f"{self.name}-product", *X11VNC.split()]
        server = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            time.sleep(SETTLE_SECONDS)
            self.inside("sh", "-c", "chmod 0666 /run/sandbox-desktop/vnc.sock", check=False)
            yield
        finally:
            self.inside("sh", "-c", "pkill -x x11vnc; rm -f /run/sandbox-desktop/vnc.sock; pkill -KILL -x X0tigervnc", check=False)
            server.wait()

    @contextmanager
    def _peer(self, side: str, command: str) -> Iterator[None]:
        words = [self.engine, "exec", f"{self.name}-{side}", "sh", "-c", f"exec {command} >/tmp/{side}.log 2>&1 </dev/null"]
        peer = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            self.sweep(side)
            peer.wait()

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + SERVE_SECONDS
        while f":{port:04X} " not in self.run("exec", f"{self.name}-server", "sh", "-c", "cat /proc/net/tcp /proc/net/tcp6"):
            if time.monotonic() > deadline:
                log = self.run("exec", f"{self.name}-peers", "tail", "-c", "500", "/tmp/peers.log")
                raise RuntimeError(f"nothing listens on {port}: {log}")
            time.sleep(0.2)

    def remove(self) -> None:
        """Remove them."""
        for what in ("viewers", "peers", "product", "client", "server"):
            subprocess.run([self.engine, "rm", "--force", "--volumes", f"{self.name}-{what}"], capture_output=True, check=False)
        subprocess.run([self.engine, "volume", "rm", f"{self.name}-x11"], capture_output=True, check=False)
        subprocess.run([self.engine, "network", "rm", self.name], capture_output=True, check=False)
