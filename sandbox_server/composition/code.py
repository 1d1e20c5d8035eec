"""Code execution: Python in kernels, JavaScript in Node.js, and both by one operation."""

from sandbox_server.composition.activity import Activity
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.editors import EditorProgram, Editors, code_server, jupyterlab
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import KernelSessions
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.script import NodeScripts
from sandbox_server.drivers.nodes.sessions import NodeSessions
from sandbox_server.drivers.stats import system
from sandbox_server.features.code.execution import BashRunner, NodeRunner, PythonRunner
from sandbox_server.features.code.languages import Code
from sandbox_server.features.editors import EditorPages
from sandbox_server.features.jupyter.kernels import Jupyter
from sandbox_server.features.nodejs.runtimes import NodeJS, NodeResources


def build_code(machine: MachineParts, activity: Activity) -> ProductPart:
    """Make kernels, Node.js sessions and the editors. Running code is counted in `activity`."""
    settings, processes, files = machine.settings, machine.processes, machine.files
    code, disabled, workspace = settings.code, settings.components.left_out, settings.agent.workspace
    memory, output = code.memory_bytes or system.memory_bytes() * 3 // 4, code.output_bytes
    has_kernels = "jupyter" not in disabled
    limits = _limits(machine)
    kernels = Kernels(
        processes,
        folder=settings.paths.kernels,
        default=code.python,
        memory=memory,
        warm=code.warm,
        enabled=has_kernels,
        limits=limits,
        private=settings.paths.agent_run,
    )
    python = KernelSessions(kernels, limit=code.max_kernels, idle_timeout=code.kernel_idle)
    nodes = Nodes(processes, default=code.node, enabled="nodejs-repl" not in disabled)
    javascript = NodeSessions(processes, nodes, workspace=workspace, limit=code.max_nodes, memory=memory, limits=limits)
    scripts = NodeScripts(processes, files, workspace=workspace, limits=limits)
    runners = PythonRunner(python, output), NodeRunner(scripts, javascript, output, memory), BashRunner(processes, output, limits)
    activity.follow_commands(lambda: python.busy, lambda: javascript.busy)
    features = (
        Jupyter(python, output_bytes=output),
        NodeJS(scripts, javascript, machine.toolbox, NodeResources(output, memory)),
        Code(kernels, nodes, *runners),
    )
    editors = Editors(processes, [editor for editor in _editors(machine) if editor.name not in disabled], machine.ports)
    return ProductPart((*features, EditorPages(editors)), (kernels, python, javascript, editors))


def _editors(machine: MachineParts) -> tuple[EditorProgram, ...]:
    settings = machine.settings
    workspace, idle = settings.agent.workspace, settings.code.editor_idle
    lab = jupyterlab(settings.code.jupyterlab_port, f"{settings.paths.kernels}/known", workspace, idle)
    return lab, code_server(settings.code.code_server_port, workspace, idle)


def _limits(machine: MachineParts) -> dict[str, int]:
    """Return the rlimits of every execution, beside its memory.

    Half of the box's processes are kept for the shells, so that a fork bomb can be ended. Without a box the kernel
    counts a user's processes in all containers together, so by default they are not limited there.
    """
    code, boxed = machine.settings.code, machine.isolation.level == "box"
    processes = code.max_processes or (machine.settings.box.max_processes // 2 if boxed else 0)
    limits = {"nproc": processes, "nofile": code.open_files, "fsize": code.file_bytes, "cpu": code.cpu_seconds}
    return {name: value for name, value in limits.items() if value}
