"""The ways of showing the desktop that are compared: which page or viewer shows it, what serves that, and whose processor time it costs."""

from dataclasses import dataclass

SERVER, CLIENT = "10.78.0.1", "10.78.0.2"
"""The two ends of the link."""
GATEWAY = f"http://{SERVER}:8080"
STREAM = ("sandbox_server stream",)
SELKIES = (
    "env SELKIES_ENABLE_BASIC_AUTH=false SELKIES_AUDIO_ENABLED=false SELKIES_UI_SHOW_SIDEBAR=false SELKIES_MANUAL_WIDTH=1280 "
    "SELKIES_MANUAL_HEIGHT=1024 selkies --public true --port 8088 --mode"
)
SHADOW = "freerdp-shadow-cli3 /port:3391 /sec:tls -auth"
FREERDP = f"xfreerdp3 /v:{SERVER}:3391 /u:viewer /p:viewer /cert:ignore /sec:tls /size:1280x1024 -decorations -grab-keyboard /rfx"


@dataclass(frozen=True)
class Way:
    """One way: a page of the gateway's, a page of its own server, or a viewer that is no browser."""

    programs: tuple[str, ...] = (".",)
    """What serves it, as `pgrep -f` finds it in the container that has it."""
    page: str = ""
    """Page at the gateway, opened with a ticket; who drives is decided there."""
    address: str = ""
    """Page of a server of its own."""
    viewer: str = ""
    """Command of a viewer of its own."""
    peer: str = ""
    """What of `/peers` it needs, where it has a server of its own beside the product."""
    serve: str = ""
    """Command of that server."""
    port: int = 0
    """Where that listens."""


WAYS = {
    "tandem": Way(STREAM, page="/stream/"),
    "websocket": Way(STREAM, page="/stream/?transport=websocket"),
    "tigervnc": Way(("X0tigervnc", "sandbox_server serve"), page="/vnc/index.html?resize=off"),
    "x11vnc": Way(("x11vnc", "sandbox_server serve"), page="/vnc/index.html?resize=off"),
    "selkies": Way(address=f"http://{SERVER}:8088/", peer="selkies", serve=f"{SELKIES} websockets", port=8088),
    "selkies-webrtc": Way(address=f"http://{SERVER}:8088/", peer="selkies", serve=f"{SELKIES} webrtc", port=8088),
    "rdp": Way(viewer=FREERDP, peer="rdp", serve=SHADOW, port=3391),
}
"""Our own over UDP, and over its WebSocket alone; noVNC over TigerVNC, and over x11vnc, which takes its place behind the same page; Selkies
in Chromium, both ways it has; FreeRDP's shadow server with its own viewer. xpra is not in this Debian."""
OURS = ("tandem", "websocket")
POOR = "5 Mbit/s and 10 % loss"
LINKS = {"normal": (5, 0, 0.0), "5 Mbit/s": (10, 5, 0.0), "10 % loss": (10, 0, 0.1), POOR: (10, 5, 0.1)}
"""One way: milliseconds; and from the server to the viewer: Mbit/s (0: unbounded), part of packets that is lost."""
QUICK = {
    "normal": ("tandem", "tigervnc", "x11vnc", "selkies", "rdp"),
    "5 Mbit/s": ("tandem", "tigervnc", "selkies"),
    "10 % loss": ("tandem", "tigervnc", "selkies"),
    POOR: (),
}
"""What ten minutes have room for."""
FULL = {link: tuple(WAYS) for link in LINKS} | {POOR: ("tandem", "tigervnc")}
