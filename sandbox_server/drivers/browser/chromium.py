"""Chromium: its command line, its policies, its profile, and how it is started.

It runs as the desktop user, with its own sandbox, and its DevTools are a pipe: no port, so nobody reaches them but the one
process that holds the other ends. Where the host refuses the namespaces of that sandbox, Landlock takes their place: for all of the browser
(landlocked.py), and for its renderers without any path (native/zygote-fence.c).
"""

import asyncio
import base64
import json
import logging
import os
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.drivers.box import nosymfollow
from sandbox_server.drivers.browser import landlocked, renderer_sandbox
from sandbox_server.drivers.browser.renderer_sandbox import RendererSandbox
from sandbox_server.drivers.profiles.names import DEFAULT, profile_folder
from sandbox_server.drivers.profiles.store import ProfileStore
from sandbox_server.drivers.spawn.process import Process, Processes
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings.browser import BrowserSettings
from sandbox_server.timeouts import scaled

COMMAND_TIMEOUT = scaled(10.0)
KEPT_PROFILES = 2
LOCKED = 75
"""How launch-chromium ends where another process has the profile."""
SMALL_SHM_BYTES = 256 << 20
"""Chromium's renderers die of a full /dev/shm; below this size they use files instead."""
RETRY_AFTER = 5.0

_LAUNCH = str(Path(__file__).with_name("launch-chromium"))
_SANDBOX_ARGUMENTS: dict[RendererSandbox | None, tuple[str, ...]] = {
    "namespaces": (),
    "landlock": ("--disable-namespace-sandbox",),
    None: ("--no-sandbox",),
}
_NEARBY = ("localhost", "*.localhost", "127.*", "[::1]", "169.254.*", "[fe80::*")
"""What Chromium connects to without a proxy."""
_NO_LOOKUPS = f"--host-resolver-rules=MAP * ~NOTFOUND, {', '.join(f'EXCLUDE {each}' for each in _NEARBY)}"
"""Chromium looks up no name: what has no proxy, such as a server of WebRTC, is not found. The proxy is given names."""
_SET_ASIDE = """
cd "$1" && [ -d "$2" ] && mv -T "$2" "$2.aside-$3"
ls -d "$2".aside-* | sort | head -n "-$4" | while read -r old; do rm -rf -- "$old"; done
"""
_DISABLED_FEATURES = (
    "RenderDocument",  # a new frame and compositor for each document of a site: a third of a page load
    "WebUIOmniboxPopup",  # these three draw the address bar's suggestions as a page, whose renderer takes 80 MiB before anybody types
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
)
_ALWAYS = (
    "--remote-debugging-pipe",
    "--no-startup-window",  # and none needed: Chromium stays when its last window closes
    "--no-first-run",
    "--no-default-browser-check",
    "--restore-last-session",  # keeps cookies without an expiry over a restart
    "--hide-crash-restore-bubble",
    "--password-store=basic",
    "--disable-blink-features=AutomationControlled",  # pages meet the browser a person uses
    "--disable-back-forward-cache",  # over DevTools a page that comes out of it never loads: Playwright's go_back waits for that
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-breakpad",
    f"--disable-features={','.join(_DISABLED_FEATURES)}",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--start-maximized",
    "--window-position=0,0",
    "--log-level=3",
)

_TOOLS = ("chrome://inspect", "chrome://flags")
"""Where the browser's own tools attach to pages, or are changed for the next start."""
_EXTENSIONS = ("chrome://extensions", "https://chromewebstore.google.com")
_BLOCKED = {"installation_mode": "blocked"}
_ALLOWED = {"blocked_permissions": ["debugger", "nativeMessaging"]}
"""With the first an extension drives pages as a client of DevTools does, past the lease; with the second programs outside."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policies:
    """What a restart of the browser may change of its managed policies."""

    blocked_urls: tuple[str, ...] = ()
    allowed_urls: tuple[str, ...] = ()
    file_dialogs: bool | None = None
    """None leaves the choice to Chromium."""
    proxy: str | None = None
    """Host and port of the proxy for everything but loopback and link-local addresses."""
    egress_proxy: str | None = None
    """Host and port of the proxy that asks the egress policy, where there is no other proxy."""
    extensions: bool = False
    """Whether extensions may be loaded."""
    egress: bool = False
    """Whether the egress policy decides on its connections: it has to see their names."""

    def document(self, downloads: str, doh_templates: str | None, viewable: Sequence[str]) -> dict[str, Any]:
        """The policy file (https://chromeenterprise.google/policies).

        Of files, those in the directories `viewable` are shown and no others: Chromium's own user can read its profile.
        """
        policies: dict[str, Any] = {
            "BackgroundModeEnabled": False,
            "BrowserSignin": 0,
            "DefaultBrowserSettingEnabled": False,
            "DownloadDirectory": downloads,
            "MetricsReportingEnabled": False,
            "NetworkPredictionOptions": 2,  # no page is fetched or rendered ahead: nothing could hold that up for approval
            "PasswordManagerEnabled": False,
            "PromptForDownloadLocation": False,
            "SyncDisabled": True,
            "TranslateEnabled": False,
            "URLBlocklist": ["file://*", *_TOOLS, *([] if self.extensions else _EXTENSIONS), *self.blocked_urls],
            "URLAllowlist": [*(f"file://{folder}/" for folder in viewable), *self.allowed_urls],
            "NativeMessagingBlocklist": ["*"],
            "NativeMessagingUserLevelHosts": False,
            "BlockExternalExtensions": True,
            "WebAppSettings": [{"manifest_id": "*", "run_on_os_login": "blocked"}],
            "ExtensionSettings": {"*": _ALLOWED if self.extensions else _BLOCKED},
        }
        if not self.extensions:
            policies |= {"ExtensionInstallBlocklist": ["*"], "ExtensionAllowedTypes": [], "ExtensionDeveloperModeSettings": 1}
        if self.file_dialogs is not None:
            policies["AllowFileSelectionDialogs"] = self.file_dialogs
        if proxy := self.proxy or self.egress_proxy:
            policies["ProxySettings"] = {"ProxyMode": "fixed_servers", "ProxyServer": proxy}
        if self.egress:
            policies |= {"DnsOverHttpsMode": "off", "EncryptedClientHelloEnabled": False, "QuicAllowed": False}
            policies["WebRtcIPHandling"] = "disable_non_proxied_udp"  # which nothing carries; names of its servers are not looked up
        elif doh_templates:
            policies |= {"DnsOverHttpsMode": "automatic", "DnsOverHttpsTemplates": doh_templates}
        return policies


@dataclass(frozen=True, slots=True)
class ChromiumPaths:
    """Where the browser lives in the container."""

    home: str
    """The desktop user's home directory."""
    policies: str
    """The managed policy file; ours to write, everybody's to read."""
    downloads: str
    x_socket: str
    """Where this process reaches the X server."""
    display: str
    """What the browser calls it."""
    viewable: tuple[str, ...] = ()
    """Directories whose files it may show."""
    linked: bool = False
    """Whether links of the agent's lead there to the container's files: where there is no box."""
    profiles: str = ""
    """Directory of the named profiles."""
    authority: str = ""
    """The file with the certificate of the sandbox's authority, which pages of opened hosts have."""
    shares_pictures: bool = False
    """Whether it passes pictures to the X server in shared memory (MIT-SHM). Any user of its IPC namespace can read them, so
    only where the agent's programs have an IPC namespace of their own.
    """

    def profile(self, name: str) -> str:
        """The user data directory of a profile."""
        return profile_folder(self.profiles, f"{self.home}/chromium", name)

    @property
    def environment(self) -> dict[str, str]:
        """What lets the browser onto the display and the desktop's message bus, and its sound to the sound server."""
        return {
            "HOME": self.home,
            "DISPLAY": self.display,
            "XAUTHORITY": f"{self.home}/authority",
            "TMPDIR": f"{self.home}/tmp",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.home}/bus",
            "XDG_RUNTIME_DIR": self.home,  # where the browser's own sandbox lets it reach a sound server
        }


@dataclass(frozen=True, slots=True)
class RunningChromium:
    """A browser that was started, and our ends of its pipe, which the caller owns."""

    process: Process
    reads: int
    writes: int


class Chromium:
    """Starts the one browser of the container. One start at a time."""

    def __init__(self, processes: Processes, browser: BrowserSettings, place: ChromiumPaths, profile: str = DEFAULT) -> None:
        """`profile` is the name of the first one; it is made if it is missing."""
        self._processes = processes
        self._browser = browser
        self._place = place
        self.policies = Policies(browser.blocked_urls, browser.allowed_urls, browser.file_dialogs, extensions=browser.extensions)
        self.language = browser.language
        self.sandbox: RendererSandbox | None = "namespaces"
        self._viewable = place.viewable
        self.profile = profile
        """The name of the profile that it runs on, or will."""
        self._store = ProfileStore(processes, place.profiles, place.profile(DEFAULT), browser.executable, browser.profiles_bytes)

    def change(self, *, language: str | None = None, **policies: Any) -> None:
        """Change what the next start, or the next writing of the policies, uses: the language and fields of `Policies`."""
        self.policies = replace(self.policies, **policies)
        self.language = language or self.language

    async def start(self) -> RunningChromium:
        """Write the policies and start Chromium on its profile, whatever an unclean end left there.

        Raises Unavailable where it cannot run, with what to do about it, and as `Processes.start` does.
        """
        await self._check_display()
        await self.check_profile(self.profile, make=self.profile == self._browser.profile)
        if not self._browser.extensions and any(word.startswith("--load-extension") for word in self._browser.extra_arguments):
            log.warning("an extension of BROWSER_EXTRA_ARGS is left out: set BROWSER_EXTENSIONS=true")
        self.sandbox = await self._choose_sandbox()
        self._viewable = await self._without_links() if self._place.linked else self._place.viewable
        self.write_policies()
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        try:
            process = await self._launch(theirs_in, theirs_out)
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        return RunningChromium(process, ours_in, ours_out)

    async def set_profile_aside(self) -> None:
        """Move the profile out of the way, so that the next start makes a fresh one; the last few stay to be looked at.

        A named one stays where it is: raises Conflict, because its tabs and logins are for no other one.
        """
        if self.profile != DEFAULT:
            raise Conflict(f"the browser ends at once on the profile {self.profile!r}", reason="damaged", hint="Use another profile.")
        folder, name = os.path.split(self._place.profile(DEFAULT))
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        command = ["/bin/sh", "-eu", "-c", _SET_ASIDE, "sh", folder, name, stamp, str(KEPT_PROFILES)]
        done = await self._processes.run(command, user="desktop", cwd="/", timeout=COMMAND_TIMEOUT, max_output=4096)
        log.warning("set the browser's profile aside as %s.aside-%s: %s", name, stamp, done.stderr.decode() or "done")

    async def check_profile(self, name: str, *, make: bool = False) -> None:
        """Return if a start on a profile can be tried; `make` makes one that is missing. Raises as `ProfileStore.check` does."""
        if name != DEFAULT:
            await self._store.check(name, make=make)

    def write_policies(self) -> None:
        """Write the policy file; a running Chromium reads it by itself after a few seconds."""
        document = self.policies.document(self._place.downloads, self._browser.doh_templates, self._viewable)
        if authority := self.authority():
            document["CACertificates"] = [authority]
        try:
            atomic_write.replace(self._place.policies, json.dumps(document, indent=1), mode=0o644)
        except OSError:
            log.exception("the browser runs without its policies")

    def authority(self) -> str:
        """Return the certificate of the sandbox's authority as the policy has it (DER in Base64); empty if there is none."""
        with suppress(OSError, ValueError):
            if self._place.authority and (pem := Path(self._place.authority).read_text(encoding="ascii")):
                return base64.b64encode(ssl.PEM_cert_to_DER_cert(pem)).decode("ascii")
        return ""

    async def _launch(self, theirs_in: int, theirs_out: int) -> Process:
        wrapper, environment = self._wrapper()
        return await self._processes.start(
            [_LAUNCH, self._place.profile(self.profile), self._browser.executable, *wrapper, self._browser.executable, *self.arguments()],
            user="desktop",
            cwd="/",
            env=self._place.environment | environment,
            stderr=2,
            pipe=(theirs_in, theirs_out),
        )

    def arguments(self) -> Sequence[str]:
        """Chromium's arguments, the caller's own last, so that they win."""
        browser = self._browser
        return (
            *_ALWAYS,
            f"--user-data-dir={self._place.profile(self.profile)}",
            f"--accept-lang={self.language}",
            f"--lang={browser.ui_language or self.language.partition(',')[0]}",
            *([f"--user-agent={browser.user_agent}"] if browser.user_agent else []),
            *(["--disable-dev-shm-usage"] if _shm_bytes() < SMALL_SHM_BYTES else []),
            *_SANDBOX_ARGUMENTS[self.sandbox],
            *([] if self._place.shares_pictures else ["--no-xshm"]),
            *([] if browser.extensions else ["--disable-extensions"]),
            *([_NO_LOOKUPS] if self.policies.egress_proxy else []),
            *browser.extra_arguments,
        )

    async def _check_display(self) -> None:
        """Without a display Chromium would end at once, and be taken for one whose profile is broken."""
        try:
            _, writer = await asyncio.open_unix_connection(self._place.x_socket)
        except OSError as error:
            raise Unavailable(f"the browser cannot start: there is no X server on {self._place.x_socket}", retry_after=1.0) from error
        writer.close()

    def _wrapper(self) -> tuple[Sequence[str], dict[str, str]]:
        """The command that starts Chromium's, and its environment, where the host or the missing box asks for one."""
        if self.sandbox == "landlock":
            executable = os.path.dirname(os.path.realpath(self._browser.executable))
            readable = (*landlocked.SYSTEM, executable, *_paths(self._browser.extra_arguments))
            profile = self._place.profile(self.profile)
            writable = (*landlocked.DEVICES, self._place.home, profile, self._place.downloads, *self._place.viewable)
            return landlocked.command(readable, writable), landlocked.environment()
        if self._place.linked and self._viewable:
            return nosymfollow.command(self._viewable), nosymfollow.environment()
        return (), {}

    async def _without_links(self) -> tuple[str, ...]:
        """The directories in which it can be had that no link is followed; none where this host does not let it."""
        if self.sandbox == "landlock":
            return ()
        probe = await self._processes.run(
            [*nosymfollow.command(self._place.viewable), "true"],
            user="desktop",
            cwd="/",
            env=nosymfollow.environment(),
            timeout=COMMAND_TIMEOUT,
            max_output=4096,
        )
        if probe.exit.code == 0:
            return self._place.viewable
        log.warning("the browser shows no files: without a box, this host cannot keep the agent's links from leading it to its own")
        return ()

    async def _choose_sandbox(self) -> RendererSandbox | None:
        """What its processes are kept in; None where the owner gave that up. Raises Unavailable where there is nothing."""
        if self._browser.no_sandbox:
            log.warning("Chromium runs without its sandbox: BROWSER_NO_SANDBOX=true")
            return None
        found = await renderer_sandbox.available(self._processes, self._browser.executable, COMMAND_TIMEOUT)
        if found == "landlock":
            log.warning(
                "Chromium runs without namespaces, which this host refuses: Landlock and seccomp-BPF keep its processes apart, "
                "and it shows no files of the agent's. GET /v1/doctor says how to win the rest"
            )
        if found is None:
            raise Unavailable(
                "the browser cannot start: this host refuses the user namespaces that its sandbox is made of, and has no Landlock",
                hint="run the container with --security-opt seccomp=deploy/seccomp/tandem.json, or set BROWSER_NO_SANDBOX=true",
                retry_after=RETRY_AFTER,
            )
        return found


def _paths(arguments: Sequence[str]) -> list[str]:
    """The paths that arguments such as `--load-extension=/a,/b` name."""
    values = (argument.partition("=")[2] for argument in arguments)
    return [path for value in values for path in value.split(",") if path.startswith("/")]


def _shm_bytes() -> int:
    try:
        shm = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return shm.f_blocks * shm.f_frsize
