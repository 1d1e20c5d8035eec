"""Places and accounts inside the container that no variable moves; tests build their own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paths:
    """Places inside the container that no variable moves; tests build their own."""

    run: str = "/run/sandbox"
    """Sockets and secrets, 0700 of the control user."""
    agent_run: str = "/run/sandbox-agent"
    """Directory of what the agent may read of the sandbox."""
    boot: str = "/run/sandbox-boot"
    """Directory that only root can use: the supervisor's programs, and the agent's environment."""
    desktop: str = "/run/sandbox-desktop"
    """The home of the desktop's user, which control can read."""
    code: str = "/opt/tandem"
    """The sandbox itself, which nobody but root may change."""
    added: tuple[str, ...] = ("/opt/gem", "/opt/tiger/run")
    """Directories in which an image puts `supervisord/*.conf` and `nginx/*.conf` of its own services."""
    mcp_servers: str = "/opt/gem/mcp-servers.json"
    """File in which an image names MCP servers for `/mcp`."""
    custom_tools: str = "/opt/tandem/custom_tools"
    proxy: str = "/run/sandbox-proxy"
    """Directory shared by the forward proxy and control. It has the proxy's configuration with an upstream's password."""
    egress: str = "/run/sandbox-egress"
    """Directory of the egress process, which control can enter: the policy in force and the process's sockets."""
    recorder: str = "/run/sandbox-recorder"
    """Directory of the flight recorder, 0700 of the user control. It does not exist in the box. A volume may be mounted there."""
    folders: str = "/run/sandbox-folders"
    """Directory of what folders keep, 0700 of the user control. It does not exist in the box. A volume may be mounted there."""
    profiles: str = "/run/sandbox-profiles"
    """Directory of the browser's profiles, 0700 of the user desktop, who sees the box's volume there. It does not exist in the box."""
    spool: str = "/var/tmp"
    """Directory of the unnamed files with the output of commands."""
    browser_policies: str = "/etc/chromium/policies/managed/tandem.json"
    """Chromium's managed policies; control writes them."""
    devtools_protocol: str = "/opt/tandem/devtools-protocol.json"
    """File with Chromium's answer to /json/protocol, recorded when the image was built."""

    def socket(self, component: str) -> str:
        """Return the socket of a component: api, mcp, spawn, gateway or an added one."""
        return f"{self.run}/{component}.sock"

    def egress_socket(self, name: str) -> str:
        """Return a socket of the egress process: `control` is its own, at `box` it gets the box's network from the daemon."""
        return f"{self.egress}/{name}.sock"

    @property
    def egress_policy(self) -> str:
        """File with the policy in force, as a JSON object."""
        return f"{self.egress}/policy.json"

    @property
    def box_gateway_pid(self) -> str:
        """File with the process id of the gateway's part in the box's network."""
        return f"{self.run}/nginx/box.pid"

    @property
    def shells(self) -> str:
        """Directory of the files and sockets of shell sessions, 0700 of the agent."""
        return f"{self.agent_run}/shells"

    @property
    def trust(self) -> str:
        """Directory of the certificates that programs in the box trust; control writes it."""
        return f"{self.agent_run}/trust"

    @property
    def kernels(self) -> str:
        """Directory of the kernels' sockets, 0700 of the agent."""
        return f"{self.agent_run}/kernels"

    @property
    def identity(self) -> str:
        """Directory of the identity's socket and token files, which control writes and the agent reads."""
        return f"{self.agent_run}/identity"

    @property
    def identity_key(self) -> str:
        """The owner's keys of the identity, as boot copied them; control's, 0400."""
        return f"{self.run}/identity-key.pem"

    @property
    def control(self) -> str:
        """File with the state of the lease, for processes that start."""
        return f"{self.run}/control.json"

    @property
    def tabs(self) -> str:
        """The addresses of the browser's tabs, for the next process that owns it."""
        return f"{self.run}/tabs.json"

    @property
    def restored_tabs(self) -> str:
        """How the tabs of a fork were scrolled and filled in; control's. It is there until the API has put that into the pages."""
        return f"{self.run}/restored-tabs.json"

    @property
    def profile(self) -> str:
        """File with the name of the browser's profile, for the next process that owns it."""
        return f"{self.run}/profile.json"

    @property
    def proxy_plan(self) -> str:
        """File with the forward proxy's rules, as a JSON object; control's."""
        return f"{self.run}/proxy.json"

    @property
    def environ(self) -> str:
        """The container's whole environment as a JSON object, secrets too; control's, 0400.

        `serve` and `mcp` load their settings from it.
        """
        return f"{self.run}/environ.json"

    @property
    def public_environ(self) -> str:
        """The container's environment without its secrets, as a JSON object; root's, 0400.

        What forks into the box loads its settings from it: a copy of its memory is in there.
        """
        return f"{self.boot}/environ.json"

    @property
    def isolation(self) -> str:
        """File with what boot found out about this host, as a JSON object; control's, 0400."""
        return f"{self.run}/isolation.json"

    @property
    def box_record(self) -> str:
        """File that describes the running box, for the next daemon; root's."""
        return f"{self.boot}/box.json"

    @property
    def authority(self) -> str:
        """The cookie of the X server, for the desktop's user and control."""
        return f"{self.desktop}/authority"

    @property
    def screen_prepared(self) -> str:
        """There once the screen of this X server has its size."""
        return f"{self.desktop}/prepared"

    @property
    def bus(self) -> str:
        """The message bus of the desktop's programs."""
        return f"{self.desktop}/bus"

    @property
    def vnc(self) -> str:
        """The VNC server's socket, for the users desktop and control."""
        return f"{self.desktop}/vnc.sock"

    @property
    def downloads(self) -> str:
        """The browser's own download folder, for the users desktop and control."""
        return f"{self.desktop}/downloads"

    @property
    def sound(self) -> str:
        """The socket of the sound server for control; programs on the desktop have another below `pulse`."""
        return f"{self.desktop}/sound.sock"

    @property
    def microphone(self) -> str:
        """There if the desktop has a microphone."""
        return f"{self.desktop}/microphone"

    @property
    def desktop_sockets(self) -> str:
        """Directory of the X server's sockets for programs on the desktop, if there is a box: /tmp is the agent's there."""
        return f"{self.desktop}/x11"

    @property
    def guest_sockets(self) -> str:
        """Directory of the display's sockets for the agent's programs.

        In a box, /tmp/.X11-unix is the same directory.
        """
        return f"{self.agent_run}/x11"

    def guest_socket(self, display: str) -> str:
        """The socket there of a display, such as `:99`."""
        return f"{self.guest_sockets}/X{display.removeprefix(':')}"

    @property
    def announcement(self) -> str:
        """An empty file while nobody has said yet, since the container started, where it is and how to sign in."""
        return f"{self.run}/announcement"

    @property
    def agent_environ(self) -> str:
        """File with the initial environment of the agent's processes, as a JSON object; root's, 0400.

        The spawner reads it.
        """
        return f"{self.boot}/agent-environ.json"


@dataclass(frozen=True, slots=True)
class Users:
    """The sandbox's own accounts, made in the image. The agent's own is in `Settings.agent`."""

    control: str = "control"
    control_uid: int = 990
    desktop: str = "desktop"
    desktop_uid: int = 991
    egress: str = "egress"
    egress_uid: int = 992
    proxy: str = "proxy"
    proxy_gid: int = 13
    """The group of Debian's user for proxies."""
    may_be_desktop: frozenset[int] = frozenset({991, 13, 65534})
    """Ids of the users whose connections the desktop may have caused: its own, and those of the forward proxy's programs."""
