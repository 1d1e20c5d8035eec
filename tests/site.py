"""A site with the pages on which the browser is tried: forms, shadow roots, frames, dialogs, pop-ups, files, pages that misbehave."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.patience import PATIENCE_SECONDS

PAGES = {
    "/": "<title>Home</title><h1>Welcome</h1><a href=/form>To the form</a> <a href=/article>To the article</a>",
    "/form": """<title>Form</title><form onsubmit="document.title = 'sent'; return false">
        <label for=name>Your name</label><input id=name><input id=secret type=password placeholder=Password>
        <textarea id=note></textarea><div id=rich contenteditable>old</div>
        <select id=colour><option value=r>Red</option><option value=g>Green</option></select>
        <input type=checkbox id=agree><input type=radio name=size id=small><input type=radio name=size id=large>
        <input type=file id=files multiple><button id=send>Send</button><button disabled id=never>Never</button></form>
        <script>
          const seen = []; document.addEventListener('change', (event) => seen.push(event.target.id)); const keys = [];
          document.addEventListener('keydown', (event) => keys.push((event.ctrlKey ? 'ctrl+' : '') + event.key));
        </script>""",
    "/shadow": """<title>Shadow</title><x-card></x-card><script>
        customElements.define('x-card', class extends HTMLElement { connectedCallback() {
          this.attachShadow({mode: 'open'}).innerHTML = '<p>In the shadow</p>' +
            '<button onclick="document.title = `pressed`">Deep</button><a href=/deep>Deep link</a>'; }});
        </script>""",
    "/frames": """<title>Frames</title><p>Outside</p>
        <iframe name=inner src=/inside width=400 height=200 style="margin-top: 50px"></iframe>""",
    "/inside": """<title>Inside</title><p>Within the frame</p><button onclick="parent.document.title = 'from the frame'">Framed</button>
        <input id=field>""",
    "/dialogs": """<title>Dialogs</title><button id=alert onclick="alert('Mind!'); document.title = 'alerted'">Alert</button>
        <button id=confirm onclick="document.title = confirm('Sure?')">Confirm</button>
        <button id=prompt onclick="document.title = prompt('Who?')">Prompt</button>
        <button id=later onclick="setTimeout(() => { document.title = confirm('Later?') }, 0)">Later</button>
        <button id=stay onclick="onbeforeunload = (event) => event.preventDefault()">Stay</button>""",
    "/popup": "<title>Opener</title><button onclick=\"window.open('/')\">Open</button>",
    "/feed": """<title>Feed</title><body style="margin: 0"><script>
        let count = 0;
        const grow = () => { for (let i = 0; i < 10; i++) { const row = document.createElement('div'); row.style.height = '200px';
          row.textContent = `row ${count++}`; document.body.append(row); } };
        grow(); addEventListener('scroll', () => { if (scrollY + innerHeight >= document.body.scrollHeight - 10) grow(); });
        </script>""",
    "/pane": """<title>Pane</title><body style="margin: 0; overflow: hidden"><div id=pane style="height: 100vh; overflow: auto">
        <div style="height: 5000px">tall</div></div>""",
    "/canvas": """<title>Canvas</title><canvas id=c width=100 height=100></canvas><script>
        const context = c.getContext('2d'); context.fillStyle = 'rgb(200, 0, 0)'; context.fillRect(0, 0, 100, 100);
        c.onclick = (event) => { document.title = `${event.offsetX},${event.offsetY}` };</script>""",
    "/covered": """<title>Covered</title><button onclick="document.title = 'reached'">Under</button>
        <div id=cover style="position: fixed; inset: 0; background: white">Advertisement</div>""",
    "/changing": """<title>Changing</title><button id=old onclick="document.title = 'old'">Old</button>
        <script>const replace = () => { old.outerHTML = '<button id=new>New</button>' };</script>""",
    "/hang": "<title>Hang</title><script>const hang = () => { for (;;); };</script>",
    "/late": """<title>Late</title><script>
        const later = () => setTimeout(() => { document.body.innerHTML = '<p id=here>Here</p>'; done = true;
        history.pushState(null, '', '/arrived'); fetch('/data'); }, 100); let done = false;</script>""",
    "/article": "<title>An article</title><nav><a href=/>Home</a></nav><article><h1>On boxes</h1>"
    + "".join(
        f"<p>Paragraph {number}: a box holds what is put into it, and <b>no more</b>, see <a href=/deep>there</a>.</p>"
        for number in range(12)
    )
    + "<ul><li>one</li><li>two</li></ul></article><footer>Imprint</footer>",
    "/captcha": """<title>Captcha</title><div class=g-recaptcha style="width: 300px; height: 70px">I am no robot</div>
        <textarea name=g-recaptcha-response hidden></textarea>
        <script>const solve = () => { document.querySelector('textarea').value = 'token' };</script>""",
    "/policy": "<title>Policy</title><p>No eval here</p>",
    "/data": "data",
}
_HEADERS = {
    "/policy": {"Content-Security-Policy": "default-src 'none'"},
    "/file": {"Content-Disposition": 'attachment; filename="notes.txt"'},
}


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/never":  # answers only when the browser gives up
            self.rfile.read(1)
            return
        found = path == "/file" or path in PAGES
        body = f"<!doctype html>{PAGES.get(path, 'a file' if found else '<title>Missing</title>')}".encode()
        self.send_response(200 if found else 404)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **_HEADERS.get(path, {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[str]:
    """The address of the site, without a slash at its end."""
    with ThreadingHTTPServer((host, 0), _Page) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{host}:{server.server_port}"
        server.shutdown()
        thread.join(PATIENCE_SECONDS)
