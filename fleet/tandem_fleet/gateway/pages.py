"""What people see in place of a sandbox: it wakes, it failed, nobody may know. Each page holds all that it needs."""

import base64
import hashlib
import html
import json
from dataclasses import dataclass

from tandem_fleet.sandboxes import State

_STYLE = (
    ":root{color-scheme:light dark}body{display:grid;min-height:100dvh;margin:0;background:light-dark(#f5f6f4,#14171a);"
    "color:light-dark(#1d2321,#e6e9e7);font:16px/1.5 system-ui,sans-serif}main{max-width:26rem;margin:auto;padding:1.5rem;"
    "border:1px solid light-dark(#dcdfda,#2d3338);border-radius:10px;background:light-dark(#fff,#1c2024)}"
    "h1{margin:0 0 .5rem;font-size:1.15rem}p{margin:.25rem 0;overflow-wrap:anywhere}"
)
_SCRIPT = """
const state = document.querySelector("#state"), words = JSON.parse(state.dataset.words);
async function follow() {
  for (let seen = state.dataset.state; ;) {
    const answer = await fetch(`/.well-known/tandem/state?seen=${seen}`, { cache: "no-store" });
    if (!answer.ok) return location.reload();
    seen = (await answer.json()).state;
    state.textContent = words[seen] ?? seen;
    if (seen === "ready" || seen === "failed") return location.reload();
  }
}
function again() { follow().catch(() => setTimeout(again, 1000)); }
again();
"""

_JOIN = """
const given = new URLSearchParams(location.hash.slice(1)), ticket = given.get("ticket") ?? "";
const form = document.querySelector("form"), name = document.querySelector("input");
if (/^tk-[\\w-]{43}$/.test(ticket)) {
  form.hidden = false;
  document.querySelector("#how").hidden = true;
  name.value = given.get("name") ?? "";
  name.readOnly = given.has("name");
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const guest = name.value.normalize("NFC").replace(/\\s+/g, " ").trim();
  if (guest) location.replace(`/view?${new URLSearchParams({ ticket, guest })}`);
});
"""
"""The ticket of an invitation is behind the `#` of its link: only the browser can read it."""

_ENGLISH = {
    "lang": "en",
    "waking": "{name} is waking up",
    "reloads": "This page reloads by itself.",
    "failed": "{name} could not be started",
    "sign_in": "Sign in",
    "how": "There is nothing here for this browser. Open the sandbox with tandem open, or with a link that was made for you.",
    "guest": "You are invited. What is your name?",
    "join": "Join",
    "no_pages": "Pages need a host name",
    "no_pages_how": "Programs reach a sandbox by this path. Its pages need a name of their own: set TANDEM_GATEWAY_DOMAIN.",
    "unclear": "This address can be read in two ways",
    "missing": "There is nothing at this address",
    "unavailable": "Please try again in a moment",
    "creating": "It is being made.",
    "starting": "It is starting.",
    "ready": "It is ready.",
    "paused": "It was paused.",
    "stopping": "It is stopping.",
    "stopped": "It was stopped.",
}
_CHINESE = {
    "lang": "zh",
    "waking": "{name} 正在唤醒",
    "reloads": "此页面会自动刷新。",
    "failed": "{name} 无法启动",
    "sign_in": "请登录",
    "how": "此浏览器没有访问权限。请用 tandem open 打开沙箱，或使用为你创建的链接。",  # noqa: RUF001
    "guest": "你收到了邀请。你叫什么名字？",  # noqa: RUF001
    "join": "加入",
    "no_pages": "页面需要主机名",
    "no_pages_how": "程序可以通过此路径访问沙箱。沙箱页面需要独立的主机名：请设置 TANDEM_GATEWAY_DOMAIN。",  # noqa: RUF001
    "unclear": "此地址有歧义",
    "missing": "此地址没有内容",
    "unavailable": "请稍后再试",
    "creating": "正在创建。",
    "starting": "正在启动。",
    "ready": "已就绪。",
    "paused": "已暂停。",
    "stopping": "正在停止。",
    "stopped": "已停止。",
}


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)} {_digest(_JOIN)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The pages' Content-Security-Policy: their own style and script, and calls of their own origin."""


@dataclass(frozen=True)
class Pages:
    """The pages in one language."""

    words: dict[str, str]

    @classmethod
    def of(cls, accept_language: str) -> "Pages":
        """In the language that a browser asks for: Chinese or English."""
        return cls(_CHINESE if accept_language.strip().lower().startswith("zh") else _ENGLISH)

    def waking(self, name: str, state: State) -> str:
        """A sandbox that is not ready yet; the page follows its state."""
        words = html.escape(json.dumps({one.value: self.words[one] for one in State if one in self.words}, ensure_ascii=False), quote=True)
        live = f'<p id="state" role="status" data-state="{state}" data-words="{words}">{self.words.get(state, state)}</p>'
        title = html.escape(self.words["waking"].format(name=name))
        return self._page(title, f"{live}<p>{self.words['reloads']}</p><script>{_SCRIPT}</script>")

    def failed(self, name: str, reason: str) -> str:
        """A sandbox that could not be started."""
        return self._page(html.escape(self.words["failed"].format(name=name)), f"<p>{html.escape(reason)}</p>")

    def refused(self, what: str) -> str:
        """Why nothing is shown: `sign_in`, `no_pages`, `unclear`, `missing` or `unavailable`."""
        if what == "sign_in":
            return self._page(self.words[what], f'<p id="how">{self.words["how"]}</p>{self._invitation()}<script>{_JOIN}</script>')
        return self._page(self.words[what], f"<p>{self.words['no_pages_how']}</p>" if what == "no_pages" else "")

    def _invitation(self) -> str:
        name = f'<p><label for="guest">{self.words["guest"]}</label></p><p><input id="guest" maxlength="60" autocomplete="name" required>'
        return f"<form hidden>{name} <button>{self.words['join']}</button></p></form>"

    def _page(self, title: str, body: str) -> str:
        return (
            f'<!doctype html><html lang="{self.words["lang"]}"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
            f"<body><main><h1>{title}</h1>{body}</main></body></html>"
        )
