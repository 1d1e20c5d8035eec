"""What root in the box, and the agent without one, try against the control side. Every script must be refused, and say so by its status.

Numbers of system calls are x86-64's. A pattern does not match itself, which `sudo` puts into the environment with the whole command.
"""

PYTHON = "python3 -c '{}'"
TRACE = PYTHON.format("import ctypes, sys; exit(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0) != 0)")
RULES = (  # NFT_MSG_GETTABLE over nfnetlink; the answer is an error, which is netlink message 2
    'import socket, struct; s = socket.socket(16, 3, 12); s.send(struct.pack("=IHHIIBBH", 20, 0xA01, 0x301, 1, 0, 0, 0, 0)); '
    'kind = struct.unpack_from("=IH", s.recv(999))[1]; print(kind); exit(kind == 2)'
)
LOOPBACK_DOWN = 'b"lo".ljust(40, bytes(1))'


def call(number: int, *arguments: str) -> str:
    """Make a system call; exits 0 unless the kernel or a filter says that nobody here may."""
    passed = "".join(f", {argument}" for argument in arguments)
    code = f"import ctypes, errno; l = ctypes.CDLL(None, use_errno=True); r = l.syscall({number}{passed}); e = ctypes.get_errno(); "
    return PYTHON.format(f"{code}print(r, errno.errorcode.get(e)); exit(r < 0 and e in (errno.EPERM, errno.ENOSYS, errno.EACCES))")


def option(level: int, name: int, value: int) -> str:
    """Set an option of a socket."""
    return PYTHON.format(f"import socket; socket.socket().setsockopt({level}, {name}, {value})")


PROCESSES = {
    "see a process of the server": "pgrep -f 'sandbox_server (serve|spawn|mcp|boot)'",
    "see the gateway": "pgrep nginx",
    "trace the first process": f"{TRACE} 1",
    "read the first process's memory": "head -c 1 /proc/1/mem",
    "learn the first process's namespaces": "ls -l /proc/1/ns/ | grep -q '>'",
    "have a file of the first process": "for fd in /proc/1/fd/*; do readlink $fd && exit 0; cat $fd && exit 0; done; exit 1",
    "go through the first process's root": "ls /proc/1/root/",
    "go through the first process's directory": "ls /proc/1/cwd/",
    "enter its namespaces": "for n in mnt pid net user ipc uts; do nsenter --target 1 --$n true 2>/dev/null && exit 0; done; exit 1",
    "copy a descriptor of it": PYTHON.format("import ctypes, os; exit(ctypes.CDLL(None).syscall(438, os.pidfd_open(1), 0, 0) < 0)"),
    "read what the kernel runs of it": "cat /proc/1/stack",
}
FILES = {
    "list where the sockets are": "ls /run/sandbox/",
    "list what boot left": "ls /run/sandbox-boot/",
    "find the key": "find / -xdev -name api-key | grep -q .",
    "find the container's environment": "find / -xdev -name '*environ.json' | grep -q .",
    "find a socket of the sandbox": "find / -xdev -type s -path '*/run/sandbox/*' | grep -q .",
    "find the layers": "ls /sandbox/ | grep -q .",
    "find the desktop's secrets": "cat /run/sandbox-desktop/authority",
    "write where the agent's token is": "touch /run/sandbox-agent/x",
    "find the key's name in an environment": "grep -l SANDBOX_API_KE[Y] /proc/[0-9]*/environ 2>/dev/null | grep -q .",
    "find the key in an environment": "grep -l the-key-of-the-image-test[s] /proc/[0-9]*/environ 2>/dev/null | grep -q .",
    "open a file by its handle": call(304, "-100", "bytes(64)", "0"),
}
SOCKETS = {
    "connect to the server": "curl -sSf -m 60 --unix-socket /run/sandbox/api.sock http://x/healthz",
    "connect to the spawner": PYTHON.format('import socket; socket.socket(1, 5).connect("/run/sandbox/spawn.sock")'),
    "see an abstract socket": "grep -q '@.*\\(sandbox\\|tandem\\)' /proc/net/unix",
    "ask the gateway without a credential": "curl -sSf -m 60 http://127.0.0.1:8080/v1/shell/sessions",
    "ask it with a caller that is made up": "curl -sSf -m 60 -H 'X-Sandbox-Caller: key' http://127.0.0.1:8080/v1/shell/sessions",
    "ask the container's engine": "find /run /var/run -name 'docker*.sock' -o -name podman.sock -o -name containerd.sock | grep -q .",
}
NETWORK = {
    "mark packets as the egress proxy's": option(1, 36, 0x5A),
    "forge packets": PYTHON.format("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    "send raw packets": PYTHON.format("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)"),
    "take loopback down": PYTHON.format(f"import fcntl, socket; fcntl.ioctl(socket.socket(), 0x8914, {LOOPBACK_DOWN})"),
    "change the routes": "python3 -c 'import fcntl, socket; fcntl.ioctl(socket.socket(), 0x890C, bytes(120))'",
    "read the rules of the network": PYTHON.format(RULES),
    "make a tunnel": "head -c 0 /dev/net/tun",
    "write a setting of the network": "echo 1 > /proc/sys/net/ipv4/ip_forward",
}
KERNEL = {
    "set the core pattern": "echo '|/bin/x' > /proc/sys/kernel/core_pattern",
    "set what loads modules": "echo /bin/x > /proc/sys/kernel/modprobe",
    "set what is told of devices": "echo /bin/x > /sys/kernel/uevent_helper",
    "restart the machine": "echo b > /proc/sysrq-trigger",
    "write a setting of memory": "echo 1 > /proc/sys/vm/overcommit_memory",
    "make /proc/sys writable": "mount -o remount,rw /proc/sys",
    "take the cover of /proc/sys away": "umount /proc/sys",
    "mount another /proc": "mkdir -p /mnt/p && mount -t proc p /mnt/p",
    "mount another /sys": "mkdir -p /mnt/s && mount -t sysfs s /mnt/s",
    "mount control groups": "mkdir -p /mnt/c && { mount -t cgroup2 c /mnt/c || mount -t cgroup -o memory c /mnt/c; }",
    "write a control group": "echo 1 > $(find /sys/fs/cgroup -name cgroup.procs | head -1)",
    "mount the kernel's tracing": "mkdir -p /mnt/t && { mount -t tracefs t /mnt/t || mount -t debugfs d /mnt/t; }",
    "mount the security filesystem": "mkdir -p /mnt/f && mount -t securityfs f /mnt/f",
    "mount a disk": "mkdir -p /mnt/d && for d in /dev/vd? /dev/sd?; do mount $d /mnt/d && exit 0; done; exit 1",
    "make a disk's device node": "mknod /tmp/disk b 254 0",
    "make a device node for memory": "mknod /tmp/mem c 1 1",
    "make a device node in a filesystem of its own": "mkdir -p /mnt/m && mount -t tmpfs m /mnt/m && mknod /mnt/m/disk b 254 0",
    "open a device by an old node": "ls /dev/mem /dev/kmsg /dev/port /dev/fuse /dev/vd? /dev/sd? /dev/loop? 2>/dev/null | grep -q .",
    "read the kernel's messages": "dmesg",
    "read the kernel's memory": "head -c 1 /proc/kcore | grep -q .",
    "read the kernel's addresses": "grep -v '^0000000000000000' /proc/kallsyms | grep -q .",
    "set the clock": "date -s 2000-01-01",
    "raise its priority with the out-of-memory killer": "echo -1000 > /proc/self/oom_score_adj",
}
CALLS = {
    "use bpf": call(321, "5", "bytes(128)", "128"),
    "watch performance events": call(298, "bytes(128)", "0", "-1", "-1", "0"),
    "make an io_uring": call(425, "1", "bytes(120)"),
    "handle page faults": call(323, "0"),
    "use the user's keyring": call(250, "0", "-4", "0"),
    "add a key": call(248, 'b"user"', 'b"x"', 'b"x"', "1", "-4"),
    "load a module": call(175, "0", "0", "0"),
    "load a module from a file": call(313, "0", 'b""', "0"),
    "load another kernel": call(246, "0", "0", "0", "0"),
    "restart by a call": call(169, "0", "0", "0", "0"),
    "read the kernel's messages by a call": call(103, "3", "ctypes.create_string_buffer(64)", "64"),
    "swap": call(167, 'b"/dev/null"', "0"),
    "account for processes": call(163, 'b"/tmp/x"'),
    "set the clock by a call": call(227, "0", "bytes(16)"),
    "turn the clock": call(305, "0", "(ctypes.c_char * 208)(1)"),
    "reach ports of the machine": call(172, "3"),
    "mount by the newer calls": call(430, 'b"tmpfs"', "0"),
    "watch all files": call(300, "4", "0"),
}
NESTING = {
    "uncover /proc/sys in a namespace of its own": "unshare -Urpmf sh -c 'umount /proc/sys || mount -o remount,rw /proc/sys'",
    "set the core pattern there": "unshare -Urpmf --mount-proc sh -c 'echo x > /proc/sys/kernel/core_pattern'",
    "map somebody else's ids there": "unshare -U sh -c 'echo 0 100000 65536 > /proc/self/uid_map'",
    "reach the outer network from there": "unshare -Urn sh -c 'curl -sS -m 60 http://127.0.0.1:8080/healthz'",
}
AS_ROOT = PROCESSES | FILES | SOCKETS | NETWORK | KERNEL | CALLS | NESTING

AS_AGENT = {
    "become root": "sudo -n true",
    "read the key": "cat /run/sandbox/api-key",
    "list where the sockets are": "ls /run/sandbox",
    "list what boot left": "ls /run/sandbox-boot",
    "read the server's environment": "for p in $(pgrep -u control); do cat /proc/$p/environ && exit 0; done; exit 1",
    "read the supervisor's environment": "cat /proc/1/environ",
    "read the server's memory": "for p in $(pgrep -u control); do head -c 1 /proc/$p/mem && exit 0; done; exit 1",
    "trace the server": f"for p in $(pgrep -u control); do {TRACE} $p && exit 0; done; exit 1",
    # A process that is started for the agent is root's at first, the agent's by the time that the signal comes, and may be over then.
    "signal the server": """
        for p in $(pgrep -u control; pgrep -u root); do kill -0 $p && ps -o uid= -p $p | grep -qvw $(id -u) && exit 0; done; exit 1""",
    "change the sandbox itself": "touch /opt/tandem/sandbox_server/app.py || touch /opt/tandem/custom_tools/x.py",
    "change the supervisor's configuration": "touch /opt/gem/supervisord/x.conf",
    "connect to the supervisor": "for s in $(find / -xdev -name 'super*.sock'); do curl -sSf --unix-socket $s x && exit 0; done; exit 1",
}
AS_AGENT |= SOCKETS | NETWORK | CALLS | {name: script for name, script in KERNEL.items() if "mount" not in name}
