"""How much longer than a good machine this one takes for what tests do most, as a `TIMEOUT_FACTOR`: `scripts/test` asks once.

Two Pythons start at once, as there are two lanes of tests, and import what the product imports. The fastest of several times
counts: what else the machine does only for a moment makes no difference, and what keeps it busy does.
"""

import subprocess
import sys
import time

REFERENCE_SECONDS = 0.3
"""A good machine takes 0.13 on two cores, 0.27 on one and 0.5 on half a one. With a load of 15 on two cores it takes 1 to 2."""
FACTORS = (1, 1.5, 2, 3, 4, 5, 6)
"""The longest wait that a test sits out is 21 s times the factor, and a test ends after 300 s."""
MEASURED_SECONDS = 2.5
LEAST_TIMES = 2
"""The first time also reads from the disk what is imported."""
WORK = "import asyncio, concurrent.futures, email, http.client, pydantic, sqlite3, ssl, starlette.applications, uvicorn"


def factor_of(seconds: float) -> float:
    """Return the least factor that is enough for a machine that takes so long; the largest one for a slower machine."""
    return next((factor for factor in FACTORS if factor * REFERENCE_SECONDS >= seconds), FACTORS[-1])


def measure() -> float:
    """Return the seconds that the work takes."""
    times: list[float] = []
    ends = time.monotonic() + MEASURED_SECONDS
    while len(times) < LEAST_TIMES or time.monotonic() < ends:
        begins = time.monotonic()
        started = [subprocess.Popen([sys.executable, "-I", "-c", WORK]) for _ in range(2)]
        if [process.wait() for process in started] != [0, 0]:
            raise SystemExit("the work that measures this machine fails")
        times.append(time.monotonic() - begins)
    return min(times)


if __name__ == "__main__":
    sys.stdout.write(f"{factor_of(measure()):g}\n")
