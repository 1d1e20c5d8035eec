"""A service: counts who has visited, in a database of the agent's."""

import json
import sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PORT = 9200
DATABASE = Path.home() / "visits.db"


class Visits(BaseHTTPRequestHandler):
    """`GET /` counts one more visit and tells how many the caller has made."""

    def do_GET(self) -> None:
        """Answer."""
        caller = self.headers["X-Sandbox-Caller"]
        with sqlite3.connect(DATABASE) as database:
            database.execute("CREATE TABLE IF NOT EXISTS visits (caller TEXT)")
            database.execute("INSERT INTO visits VALUES (?)", (caller,))
            [count] = database.execute("SELECT COUNT(*) FROM visits WHERE caller = ?", (caller,)).fetchone()
        body = json.dumps({"caller": caller, "visits": count}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", PORT), Visits).serve_forever()
