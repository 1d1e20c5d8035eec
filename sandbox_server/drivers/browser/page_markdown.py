"""A program that turns markup into Markdown, with markdownify. See `drivers.confined` for how it runs; it imports nothing of ours.

It reads UTF-8 from standard input, and writes `{"text"}`, or `{"problem"}` for the caller.
"""

import json
import sys


def main() -> None:
    """Read, convert, write."""
    from markdownify import markdownify

    try:
        html = sys.stdin.buffer.read().decode("utf-8", "replace")
        answer = {"text": markdownify(html, heading_style="ATX", bullets="-", strip=["script", "style"]).strip()}
    except (MemoryError, RecursionError):
        answer = {"problem": "The page is too large or too deep to be shown as Markdown."}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
