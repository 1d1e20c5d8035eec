"""The browser of a sandbox for browser-use, and tools that wait for a person and ask one.

```python
agent = Agent(task, llm=model, browser_session=session(sandbox), tools=PersonTools(sandbox), step_timeout=STEP_SECONDS)
```
"""

from typing import TYPE_CHECKING, Any

from browser_use import ActionResult, BrowserSession, Tools

from tandem.errors import TandemError
from tandem.integrations import person
from tandem.integrations.function_tools import PERSON_SECONDS

if TYPE_CHECKING:
    from tandem import AsyncSandbox

GRACE_SECONDS = 60.0
"""How much longer the framework waits for an action than the action for a person."""
STEP_SECONDS = int(2 * PERSON_SECONDS + 5 * GRACE_SECONDS)
"""A `step_timeout` of an agent, within which a person can drive, and then answer."""
_DOES_NOT_TOUCH = {"done", "ask_person", "wait", "write_file", "read_file", "replace_file"}


def session(sandbox: "AsyncSandbox", **options: Any) -> BrowserSession:
    """The Chromium that the person sees, with the sandbox's key. It outlives the agent unless `keep_alive` says otherwise."""
    address = f"{sandbox.url.rstrip('/').replace('http', 'ws', 1)}/devtools/browser/any"
    headers = {"Authorization": f"Bearer {sandbox.key}"} if sandbox.key else {}
    return BrowserSession(cdp_url=address, headers=headers, **{"keep_alive": True, **options})


class PersonTools(Tools[Any]):
    """The framework's tools and `ask_person`. An action on the browser waits for the person who drives, for `patience` seconds.

    After that it is not done, and the model is told. A person is waited for `person_timeout` seconds for an answer.
    """

    def __init__(
        self, sandbox: "AsyncSandbox", *, patience: float = PERSON_SECONDS, person_timeout: float = PERSON_SECONDS, **options: Any
    ) -> None:
        super().__init__(**options)
        self._sandbox = sandbox
        self._patience = patience
        self._person_timeout = person_timeout

        async def ask_person(params: person.Question) -> ActionResult:
            try:
                answer = await params.asked_of_async(sandbox, person_timeout)
            except TandemError as error:
                answer = person.failure_text(error)
            return ActionResult(extracted_content=answer, long_term_memory=answer)

        self.registry.action(person.DESCRIPTION, param_model=person.Question)(ask_person)

    async def act(self, action: Any, browser_session: Any, **given: Any) -> Any:
        """Do it, once no person drives."""
        names = set(action.model_dump(exclude_unset=True))
        if names - _DOES_NOT_TOUCH and (held := await self._held()):
            return ActionResult(error=held)
        if person.NAME in names:
            given["action_timeout"] = self._person_timeout + GRACE_SECONDS
        return await super().act(action, browser_session, **given)

    async def _held(self) -> str:
        try:
            await self._sandbox.control.wait(self._patience)
        except TimeoutError as error:
            return f"Nothing was done: {error}. Do not try again at once: wait, or ask the person."
        except TandemError as error:
            return person.failure_text(error)
        return ""
