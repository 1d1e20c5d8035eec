"""The API's OpenAPI document, for people, SDKs, the MCP process and the command line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox_server.core import operation
from sandbox_server.core.openapi import document
from sandbox_server.core.operation import Operation

TITLE = "Tandem"
TAGS: Mapping[str, tuple[str, str]] = {
    "handoffs": ("Ask a person, and wait for the answer.", "human approve confirm login captcha otp 2fa payment request question ask"),
    "approvals": ("Rule which acts need a person's approval.", "policy gate confirm allow ask deny shell command tool download"),
    "control": ("See who drives; take control, hand it back, pause the agent.", "take over lease freeze stop resume release private drive"),
    "checkpoints": ("Keep the state of the files, compare, and go back.", "undo restore rollback revert snapshot backup before diff"),
    "folders": ("Synchronise folders with a store outside of the box.", "sync s3 bucket persist volume keep context mount share"),
    "recorder": ("Look up who did what, with recordings of the screen.", "audit log history video replay film events"),
    "shell": ("Use shells that a person sees, too.", "terminal tmux command run exec"),
    "bash": ("Run a command, and get its output and exit code.", "command run exec process subprocess"),
    "code": ("Run code in a language.", "python javascript execute interpreter"),
    "jupyter": ("Run Python in sessions that keep their state.", "notebook kernel ipython interpreter"),
    "nodejs": ("Run JavaScript and TypeScript in sessions.", "node typescript repl"),
    "file": ("Read, write, find and move files.", "upload download edit folder directory archive zip copy delete"),
    "file-watch": ("Hear of changes to files.", "notify inotify follow monitor"),
    "browser-page": ("Load pages, read them, click and type in them.", "navigate scrape goto selector form screenshot playwright"),
    "browser-tabs": ("Open, activate and close tabs.", "window page"),
    "browser-tools": ("Use pages by the numbers of their elements.", "index click agent"),
    "browser": ("Act on the screen with mouse and keyboard, and see it.", "gui desktop computer use click type picture look"),
    "computer": (
        "Act as models of Anthropic, OpenAI and Google say, by their own schemas.",
        "computer use vendor claude gpt gemini tool action",
    ),
    "screen": ("List and click what is on the screen.", "accessibility elements windows"),
    "browser-network": ("Log and change the browser's requests.", "intercept route mock headers har"),
    "browser-cookies": ("List, set and clear cookies.", "session login storage"),
    "profiles": ("Keep logins in named profiles of the browser.", "login account profile sign out export import cookies"),
    "lanes": ("Give each agent pages of its own in the one browser.", "context window tabs agents several cookies isolate"),
    "browser-state": ("Save and load cookies and storage.", "login profile session storage"),
    "browser-downloads": ("List what was downloaded.", "file"),
    "browser-captcha": ("Find CAPTCHAs on a page.", "recaptcha turnstile robot"),
    "display": ("Record the screen to a file.", "video film mp4"),
    "ports": ("Preview and share what listens on a port.", "tunnel expose server link web"),
    "editors": ("Start JupyterLab and code-server.", "vscode ide notebook"),
    "mcp": ("List and call tools of MCP servers, and add servers.", "model context protocol tool"),
    "skills": ("Register instructions for agents.", "prompt guide"),
    "sandbox": ("Describe the computer; hooks at its end; observe its load.", "info context packages metrics"),
    "util": ("Convert documents to Markdown.", "pdf word html convert"),
    "egress": (
        "Rule what leaves the box: policy, approvals, connections.",
        "network firewall allow deny block host access internet request",
    ),
    "secrets": ("Let programs use secrets that the agent never holds.", "credential token api key password vault placeholder broker totp"),
    "proxy": ("Change the proxy of the browser and the shells.", "upstream network pac"),
    "box": ("See the agent's box, and start it again.", "container root namespace limits restart reset"),
    "suspension": ("Stop all processes where they are, and let them go on.", "pause freeze sleep hibernate resume idle"),
    "capabilities": ("See what the sandbox can do on this host.", "features box root"),
    "doctor": ("Check which protections hold, and how to win the others.", "health diagnose guarantees security flags"),
    "health": ("Probes and metrics for orchestrators.", "ready live prometheus"),
    "identity": (
        "Prove to others which sandbox this is.",
        "oidc jwt jwks workload federation spiffe aws gcp azure vault token exchange bind",
    ),
    "auth": ("Make sign-in tickets, and end sessions.", "login link invite key token user disconnect"),
    "description": ("Get the OpenAPI document.", "schema spec"),
}
"""What each tag is for, and the words by which people look for it, in the order in which a newcomer needs them."""


class Description:
    """Makes the OpenAPI document once, on first use."""

    tag = "description"

    def __init__(self, operations: Callable[[], Sequence[Operation]], version: str) -> None:
        self._operations = operations
        self._version = version
        self._document: dict[str, Any] | None = None

    @operation("GET /v1/openapi.json", scope="view", envelope=False)
    async def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 document of every operation, custom tools included."""
        if self._document is None:
            self._document = document(self._operations(), title=TITLE, version=self._version, tags=TAGS)
        return self._document
