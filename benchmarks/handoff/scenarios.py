"""The three scenarios: an agent alone, then an agent that asks a person, on a site that checks."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.handoff import agent as script
from benchmarks.handoff import person_actions
from benchmarks.handoff.agent import Agent
from benchmarks.handoff.eavesdropper import eavesdropping
from benchmarks.handoff.leaks import FILES, found_in
from benchmarks.handoff.person import Person
from benchmarks.handoff.site import Site
from benchmarks.handoff.visits import Ad, Login, Puzzle, Target

SEARCH = "/tmp/search.py"
BUSY = {"actions": [{"action_type": "MOVE_TO", "x": 300, "y": 300}, {"action_type": "WAIT", "duration": 0.3}]}
TIMEOUT_SECONDS = 120.0
REFUSED_SECONDS = 0.2
"""Before what was refused is tried again."""


@dataclass(frozen=True)
class Scenario:
    """What the agent tries, what it asks for, what the person does, and how the agent goes on."""

    visit: Callable[[], Any]
    tries: Callable[[Agent], None]
    ends: Callable[[Agent], None]
    kind: str
    reason: str
    instructions: str
    does: Callable[[Person, Any], None]


SCENARIOS = {
    "floating_ad": Scenario(
        Ad,
        script.close_ad,
        script.report_hours,
        "free",
        "An advertisement covers the text, and its button moves away from me.",
        "Close the advertisement.",
        lambda person, _: person_actions.close_ad(person),
    ),
    "captcha": Scenario(
        Puzzle,
        script.slide,
        script.go_on,
        "captcha",
        "The page asks whether I am a person.",
        "Slide the piece into its gap, then choose every triangle.",
        lambda person, _: person_actions.solve_puzzle(person),
    ),
    "login": Scenario(
        Login,
        script.guess_password,
        script.report_reference,
        "login",
        "The bank wants Ada's password and a one-time code.",
        "Sign in as ada.",
        person_actions.sign_in,
    ),
}


@dataclass
class Outcome:
    """What came of one round; times in seconds."""

    done: bool
    to_claim: float = 0.0
    human: float = 0.0
    leaks: list[str] = field(default_factory=list)
    """Where the agent got a secret of the person's."""
    secrets: list[str] = field(default_factory=list)
    """What it must not get, to be looked for in what only the container's owner sees."""


@dataclass(frozen=True)
class Stage:
    """The product, as who owns it reaches it, and the site."""

    base_url: str
    key: str
    site: Site

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API as its owner, whom the agent does not hear."""
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = httpx.request(method, self.base_url + path, json=body, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def agent(self) -> "closing[Agent]":
        """A program of its own."""
        return closing(Agent(self.base_url, self.key))

    def invitation(self) -> str:
        """An address that signs a person in, once."""
        return f"{self.base_url}/view?ticket={self.ask('POST', '/tickets', {'scopes': ['view', 'control']})['ticket']}"

    def withdraw(self) -> None:
        """Take back what is asked, so that nobody waits for it."""
        for each in self.ask("GET", "/v1/handoffs")["data"]:
            self.ask("DELETE", f"/v1/handoffs/{each['id']}")

    def searched(self, since: float, secrets: list[str]) -> list[str]:
        """The files and processes that the agent can read in which there is a secret."""
        self.ask("POST", "/v1/file/write", {"file": SEARCH, "content": FILES})
        words = " ".join(each.encode().hex() for each in secrets)
        done = self.ask("POST", "/v1/bash/exec", {"command": f"sudo python3 {SEARCH} {since} {words}", "timeout": TIMEOUT_SECONDS})["data"]
        if done["exit_code"] != 0:
            raise RuntimeError(f"the files could not be searched: {done}")
        return list(filter(None, done["stdout"].splitlines()))


def alone(stage: Stage, scenario: Scenario) -> Outcome:
    """The agent by itself."""
    visit = scenario.visit()
    with stage.agent() as agent:
        _try(agent, scenario, stage.site.open(visit))
        scenario.ends(agent)
    return Outcome(visit.done)


def with_person(stage: Stage, scenario: Scenario, person: Person) -> Outcome:
    """The agent that asks when it could not, and goes on when it is answered."""
    visit, told, since, asks = scenario.visit(), list[dict[str, Any]](), time.time(), threading.Event()
    with stage.agent() as agent:
        address = stage.site.open(visit)
        script = threading.Thread(target=lambda: told.append(_asking(agent, scenario, address, asks)))
        script.start()
        with eavesdropping(agent):
            try:
                asks.wait(TIMEOUT_SECONDS)  # what it tries by itself may take long
                person.wait_for_request()
                person.take_it_on()
                scenario.does(person, visit)
                person.answer("Done")
            except BaseException:
                stage.withdraw()
                raise
            finally:
                script.join()
        if told[0]["outcome"] != "done":
            raise RuntimeError(f"nobody answered the agent: {told[0]}")
        scenario.ends(agent)
        secrets = [*getattr(visit, "secrets", []), *person.cookies()]
        leaks = found_in(agent.heard, secrets) + stage.searched(since, secrets)
    claimed = told[0]["claimed_at"]
    return Outcome(visit.done, claimed - told[0]["created_at"], told[0]["closed_at"] - claimed, leaks, secrets)


def _try(agent: Agent, scenario: Scenario, address: str) -> None:
    agent.tool("browser_navigate", url=address)
    scenario.tries(agent)


def _asking(agent: Agent, scenario: Scenario, address: str, asks: threading.Event) -> dict[str, Any]:
    try:
        _try(agent, scenario, address)
        agent.tool("browser_navigate", url=address)  # as it was before it tried
    finally:
        asks.set()
    return agent.ask_person(scenario.kind, scenario.reason, scenario.instructions)


def take(stage: Stage, person: Person) -> float:
    """Milliseconds from a person's first press, while the agent acts, until it is a press in the agent's browser."""
    target = Target()
    with stage.agent() as agent:
        agent.tool("browser_navigate", url=stage.site.open(target))
        ended = threading.Event()
        acting = threading.Thread(target=_act, args=(agent, ended))
        acting.start()
        try:
            person.move(*person.find(person_actions.PURPLE).centre)
            pressed = person.press_timed()
            person.until(lambda: target.pressed, "the press does not arrive")
        finally:
            ended.set()
            acting.join()
        person.give_back()
    return target.pressed[0] - pressed


def _act(agent: Agent, ended: threading.Event) -> None:
    while not ended.is_set():
        if not agent.call("POST", "/v1/browser/actions/batch", BUSY).is_success:
            ended.wait(REFUSED_SECONDS)
