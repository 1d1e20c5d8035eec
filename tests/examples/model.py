"""A model that is a script: a server of OpenAI's chat completions, which says what the test wants it to say."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

type Conversation = list[dict[str, Any]]
type Step = Callable[[Conversation], dict[str, Any]]
"""What the model says to a conversation, as OpenAI's message."""


def says(text: str) -> Step:
    """Words."""
    return lambda _: {"role": "assistant", "content": text}


def calls(name: str, **arguments: object) -> Step:
    """One call of a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return lambda _: {"role": "assistant", "content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}


def repeats(prefix: str) -> Step:
    """Words, and after them what the last tool answered."""
    return lambda conversation: {"role": "assistant", "content": f"{prefix}{text_of(conversation[-1])}"}


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, of one part or of several."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class _Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        steps: list[Step] = self.server.steps  # type: ignore[attr-defined] # ours
        message = steps.pop(0)(asked["messages"]) if steps else {"role": "assistant", "content": "the script is at its end"}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        answer = {
            "id": "completion-1",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@contextmanager
def playing(*steps: Step) -> Iterator[dict[str, str]]:
    """The variables that lead an example to a model that takes these steps, all of which have to be taken."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        server.daemon_threads = True
        left: Sequence[Step] = list(steps)
        server.steps = left  # type: ignore[attr-defined] # the handler takes them
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "none", "MODEL": "gpt-5-mini"}
            assert not left, f"{len(left)} steps were not taken"
        finally:
            server.shutdown()
            thread.join(30)
