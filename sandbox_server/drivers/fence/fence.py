"""Puts the fence around a forked process before it executes its program, so before any code of the agent runs.

There are two steps: `separate` makes namespaces while the process still may, and `close` runs once it is the agent. A
policy that this host cannot enforce raises FenceError, and the program does not run. Only the standard library, like
all of the spawner.
"""

import errno
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NoReturn

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.fence import calls, landlock, mounts, network
from sandbox_server.drivers.fence.policy import EnvPolicy, IsolationPolicy
from sandbox_server.drivers.fence.proxy import FenceProxy

ALWAYS_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "WORKSPACE")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_LIMITS = {
    "cpu_seconds": resource.RLIMIT_CPU,
    "memory_bytes": resource.RLIMIT_DATA,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
    "file_bytes": resource.RLIMIT_FSIZE,
}


class FenceError(OSError):
    """A part of the policy cannot be enforced here. `field` names it, such as `network`."""

    def __init__(self, number: int, reason: str, field: str) -> None:
        super().__init__(number, reason)
        self.field = field


@contextmanager
def _asked_by(field: str) -> Iterator[None]:
    try:
        yield
    except FenceError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FenceError(error.errno or errno.EIO, f"{error.filename}: {reason}" if error.filename else reason, field) from None


class Fence:
    """A policy for one program. Its relative paths are below `cwd`, `~` is `home`, and `private` is always hidden."""

    def __init__(self, policy: IsolationPolicy, *, cwd: str, home: str, private: str) -> None:
        self.policy = policy
        self._cwd = cwd
        self._home = home
        self._private = private
        self._separated = False

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return the allowed part of the agent's environment, and the proxy's variables."""
        kept = {name: value for name, value in base.items() if name in ALWAYS_PASSED or _passes(self.policy.env, name)}
        proxied = self.policy.network and self.policy.network.allowed_domains
        return {**kept, **(network.environment() if proxied else {})}

    def separate(self, become: Callable[[], None]) -> None:
        """Enter namespaces of the process's own, if possible.

        The proxy stays outside and calls `become` to be the agent.
        """
        proxy = self._fork_proxy(become)
        try:
            own_namespace()
            os.unshare(os.CLONE_NEWNS | (os.CLONE_NEWNET if self.policy.network else 0))
        except OSError as error:
            self._do_without(error)
        else:
            self._arrange(proxy)
            self._separated = True
        finally:
            if proxy:
                proxy.close()

    def close(self) -> None:
        """Give up everything that the policy does not allow, and all rights in the process's own namespaces, permanently.

        Executing a program would drop those rights, but not every process executes one.
        """
        self._set_limits()
        self._restrict_paths()
        namespaces.drop_capabilities()
        families = None if self.policy.network is None else calls.INTERNET if self._separated else ()
        with _asked_by("unix_sockets"):
            calls.restrict(families, unix=self.policy.unix_sockets)

    def _path(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            return self._home + path[1:]
        return os.path.join(self._cwd, path)

    def _paths(self, part: str, name: str) -> list[str]:
        given = getattr(self.policy, part)
        return [os.path.normpath(self._path(path)) for path in getattr(given, name)] if given else []

    def _hidden(self) -> list[str]:
        return [path for path in self._paths("read", "deny") if path != "/"]

    def _arrange(self, proxy: socket.socket | None) -> None:
        namespaces.keep_mounts_private()
        held = self._paths("write", "deny")
        with _asked_by("write.deny"):
            for path in held:
                os.stat(path)
            mounts.hold(held, self._paths("write", "allow"))
        with _asked_by("read.deny"):
            shown = [path for path in self._paths("read", "allow") if not mounts.within(os.path.realpath(path), self._private)]
            mounts.hide([self._private, *self._hidden()], shown)
        if self.policy.network is not None:
            with _asked_by("network"):
                network.raise_loopback()
                if proxy:
                    with network.listener() as listening:
                        socket.send_fds(proxy, [b"x"], [listening.fileno()])

    def _do_without(self, error: OSError) -> None:
        """Refuse the parts of the policy that need namespaces. Landlock and the filter enforce the rest."""
        policy, reason = self.policy, f"no namespaces can be made here ({error.strerror})"
        needs = {
            "read.deny": bool(self._hidden()),
            "write.deny": bool(self._paths("write", "deny")),
            "network.allowed_domains": bool(policy.network and policy.network.allowed_domains),
            "limits.processes": bool(policy.limits and policy.limits.processes),
            "network": policy.network is None,
            "write": policy.write is None,
        }
        for field, needed in needs.items():
            if needed and field in ("network", "write"):
                raise FenceError(errno.EPERM, f"{reason}, so `read` must be given: otherwise the sandbox's own token could be read", field)
            if needed:
                raise FenceError(errno.EPERM, reason, field)

    def _restrict_paths(self) -> None:
        read, write = self.policy.read, self.policy.write
        reads = read is not None and "/" in self._paths("read", "deny")
        held = (landlock.READING if reads else 0) | (landlock.WRITING if write else 0)
        allowed: dict[int, int] = {}
        for path in _DEVICES:
            with suppress(OSError):
                allowed[landlock.open_path(path)] = landlock.READING | landlock.WRITING
        for field, rights, wanted in (("write", landlock.WRITING, bool(write)), ("read", landlock.READING, reads)):
            with _asked_by(f"{field}.allow"):
                for path in self._paths(field, "allow") if wanted else ():
                    allowed[landlock.open_path(path)] = rights
        with _asked_by("write" if write else "read" if reads else "isolation"):
            if write and 0 < landlock.abi() < landlock.TRUNCATION_ABI:
                raise OSError(errno.ENOSYS, "this kernel's Landlock cannot prevent truncating files (Linux 6.2 is needed)")
            landlock.restrict(held, allowed)
        landlock.close_all(allowed)

    def _set_limits(self) -> None:
        for name, value in vars(self.policy.limits).items() if self.policy.limits else ():
            if value is not None:
                with _asked_by(f"limits.{name}"):
                    most = resource.getrlimit(_LIMITS[name])[1]
                    given = value if most == resource.RLIM_INFINITY else min(value, most)
                    resource.setrlimit(_LIMITS[name], (given, given))

    def _fork_proxy(self, become: Callable[[], None]) -> socket.socket | None:
        """Fork the proxy as an orphan that waits for its listener; return the socket on which it gets that."""
        policy = self.policy.network
        if not policy or not policy.allowed_domains:
            return None
        with _asked_by("network"):
            ended = os.pidfd_open(os.getpid())
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                _run_proxy(FenceProxy(policy), theirs, ended, become)
            os._exit(0)
        os.waitpid(pid, 0)
        os.close(ended)
        theirs.close()
        return ours


def _run_proxy(proxy: FenceProxy, sock: socket.socket, ended: int, become: Callable[[], None]) -> NoReturn:
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        become()
        namespaces.forbid_tracing()
        null = os.open(os.devnull, os.O_RDWR)
        for fd, target in ((null, 0), (null, 1), (null, 2)):
            os.dup2(fd, target)
        for fd, target in [(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10), target) for fd, target in ((sock.fileno(), 3), (ended, 4))]:
            os.dup2(fd, target)
        os.closerange(5, os.sysconf("SC_OPEN_MAX"))
        with socket.socket(fileno=3) as own:
            _, fds, _, _ = socket.recv_fds(own, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if fds:
            with socket.socket(fileno=fds[0]) as listening:
                proxy.serve(listening, 4)
    finally:
        os._exit(0)


def own_namespace() -> None:
    """Enter a new user namespace with the same users, or with the only user of a process without root."""
    if os.geteuid() == 0:
        namespaces.leave_user_namespace()
        return
    uid, gid = os.geteuid(), os.getegid()
    os.unshare(os.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _passes(policy: EnvPolicy | None, name: str) -> bool:
    if policy is None:
        return True
    allowed = policy.allow is None or any(_names(entry, name) for entry in policy.allow)
    return allowed and not any(_names(entry, name) for entry in policy.deny)


def _names(entry: str, name: str) -> bool:
    return name.startswith(entry[:-1]) if entry.endswith("*") else name == entry
