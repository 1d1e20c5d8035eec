"""The code interpreter."""

from typing import Any

from e2b import NotFoundException, SandboxException, TimeoutException
from steps import it, noted, refused, run


async def program(kind: Any) -> None:
    """The program."""
    sandbox = noted("Sandbox", await it(kind.create(timeout=900, request_timeout=300, envs={"GREETING": "hello"})))
    try:
        await executions(sandbox)
        await contexts(sandbox)
    finally:
        await it(sandbox.kill())


async def executions(sandbox: Any) -> None:
    """Code and what it puts out."""
    heard: list[str] = []
    done = await it(sandbox.run_code("x = 20\nprint('out')\nx + 1", on_stdout=lambda line: heard.append(line.line)))
    assert (done.text, done.logs.stdout, done.error) == ("21", ["out\n"], None)
    assert done.execution_count > 0
    assert heard == ["out\n"]
    assert (await it(sandbox.run_code("x + 2"))).text == "22"
    read = "import os; os.environ['GREETING'], os.environ.get('MINE')"
    assert (await it(sandbox.run_code(read, envs={"MINE": "1"}))).text == "('hello', '1')"
    assert (await it(sandbox.run_code(read))).text == "('hello', None)"
    failed = await it(sandbox.run_code("1 / 0"))
    assert (failed.error.name, "division" in failed.error.value) == ("ZeroDivisionError", True)
    shown = await it(sandbox.run_code("from IPython.display import HTML, display\ndisplay(HTML('<b>'))"))
    assert [(one.html, one.is_main_result) for one in shown.results] == [("<b>", False)]
    script = await it(sandbox.run_code("const y = 1; console.log('js'); y + 1", language="javascript"))
    assert (script.text, script.logs.stdout) == ("2", ["js\n"])
    await refused(TimeoutException, lambda: sandbox.run_code("import time; time.sleep(250)", timeout=2))
    assert (await it(sandbox.run_code("x", timeout=100))).text == "20"
    await refused(SandboxException, lambda: sandbox.run_code("1", language="r"))


async def contexts(sandbox: Any) -> None:
    """Contexts apart from each other."""
    context = await it(sandbox.create_code_context(cwd="/tmp", language="python"))
    assert (context.language, context.cwd) == ("python", "/tmp")
    assert (await it(sandbox.run_code("import os; z = os.getcwd(); z", context=context))).text == "/tmp"
    assert context.id in [one.id for one in await it(sandbox.list_code_contexts())]
    assert (await it(sandbox.run_code("z"))).error.name == "NameError"
    await it(sandbox.restart_code_context(context))
    assert (await it(sandbox.run_code("z", context=context))).error.name == "NameError"
    await it(sandbox.remove_code_context(context))
    await refused(NotFoundException, lambda: sandbox.run_code("1", context=context))


run(program)
