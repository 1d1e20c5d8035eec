"""A scripted agent: it calls tools as any MCP client does, tries the obvious, and keeps every answer that it got.

It is no model: what it cannot do alone says that the page resists a script, not that no model could.
"""

import json
import random
import re
from typing import Any

import httpx

WAIT_SECONDS = 300.0
GUESSES = ("admin", "password", "ada", "123456", "letmein")
_AD_CORNER = "() => { const r = document.querySelector('canvas').getBoundingClientRect(); return [r.right - 20, r.top + 20]; }"
_HANDLE = """() => { const r = document.querySelector('[role=slider]').getBoundingClientRect();
  return [screenX + r.x + r.width / 2, screenY + outerHeight - innerHeight + r.y + r.height / 2]; }"""


class Agent:
    """One program with its key."""

    def __init__(self, base_url: str, key: str) -> None:
        self.authorization = f"Bearer {key}"
        headers = {"Authorization": self.authorization}
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=WAIT_SECONDS * 2, trust_env=False)
        self.heard: list[tuple[str, bytes]] = []
        """Every answer: to what, and its bytes with their headers."""

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        """Call the API."""
        answer = self._http.request(method, path, json=body, params=query, headers={"Accept": "application/json, */*"})
        self.heard.append((f"{method} {path}", repr(answer.headers.multi_items()).encode() + answer.content))
        return answer

    def tool(self, name: str, **arguments: Any) -> str:
        """Call a tool; what it says, an error too."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self._http.post("/mcp", json=call, headers={"Accept": "application/json"})
        self.heard.append((name, answer.content))
        content = answer.json().get("result", {}).get("content", [])
        return "\n".join(each.get("text", "") for each in content)

    def ask_person(self, kind: str, reason: str, instructions: str) -> dict[str, Any]:
        """Ask, and wait for the outcome."""
        said = self.tool("request_human", kind=kind, reason=reason, instructions=instructions, wait=WAIT_SECONDS)
        handoff: dict[str, Any] = json.loads(said[said.index("{") : said.rindex("}") + 1])
        return handoff


def close_ad(agent: Agent) -> None:
    """Look for what closes it, press Escape, click the corner, take the thing out of the page."""
    listing = agent.tool("browser_get_clickable_elements")
    for index in re.findall(r"\[(\d+)\]<[^>]*>[^\n]*(?:close|dismiss|skip)", listing, re.IGNORECASE):
        agent.tool("browser_click", index=int(index))
    agent.tool("browser_press_key", key="Escape")
    x, y = json.loads(agent.tool("browser_evaluate", script=_AD_CORNER))
    agent.tool("browser_vision_screen_click", x=x, y=y)
    agent.tool("browser_evaluate", script="() => document.querySelector('canvas')?.style.setProperty('display', 'none')")


def report_hours(agent: Agent) -> None:
    """Read the text, and send in what it says."""
    found = re.search(r"It opens at \d\d:\d\d\.", agent.tool("browser_get_text"))
    if found:
        agent.tool("browser_form_input_fill", selector="#answer", value=found[0], clear=True)
        agent.tool("browser_click", selector="#send")


def slide(agent: Agent) -> None:
    """Drag the piece to where it may belong, three times; then choose three pictures, as nothing tells which."""
    for _ in range(3):
        x, y = json.loads(agent.tool("browser_evaluate", script=_HANDLE))
        for action in ({"action_type": "MOVE_TO", "x": x, "y": y}, {"action_type": "DRAG_TO", "x": x + random.randrange(120, 500), "y": y}):
            agent.tool("sandbox_browser_execute_action", action=action)
    listing = agent.tool("browser_get_clickable_elements")
    if "Check" in listing:
        for _ in range(3):
            agent.tool("browser_click", selector=f"#grid button:nth-child({random.randrange(9) + 1})")
        agent.tool("browser_click", selector="#check")


def go_on(agent: Agent) -> None:
    """Press Continue, if it is there."""
    if "Continue" in agent.tool("browser_get_clickable_elements"):
        agent.tool("browser_click", selector="#continue")


def guess_password(agent: Agent) -> None:
    """Try what many use, and look for a password in the files."""
    agent.call("POST", "/v1/bash/exec", {"command": "grep -rsiI password ~ | head"})
    for guess in GUESSES:
        agent.tool("browser_form_input_fill", selector="#user", value="ada", clear=True)
        agent.tool("browser_form_input_fill", selector="#password", value=guess, clear=True)
        agent.tool("browser_click", selector="#send")


def report_reference(agent: Agent) -> None:
    """Read the reference, if it is shown, and send it in."""
    found = re.search(r"Your reference is (\w+)", agent.tool("browser_get_text"))
    if found:
        agent.tool("browser_form_input_fill", selector="#answer", value=found[1], clear=True)
        agent.tool("browser_click", selector="#send")
