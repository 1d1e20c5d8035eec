"""The variables that say how code is run; `settings` has all the others."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, KERNEL_NAME, NODE_NAME, PORT, SIZE, integer, seconds, variable


@dataclass(frozen=True, slots=True)
class CodeSettings:
    """Code"""

    python: str = variable("PYTHON_VERSION", KERNEL_NAME, "python3", "Python for callers who name none, such as `3.12`.", inherited=True)
    max_kernels: int = variable(
        "MAX_JUPYTER_SESSIONS",
        integer(1, 1000),
        10,
        "Python sessions. One more replaces an idle unnamed one, or is answered 429.",
    )
    kernel_idle: float = variable(
        "JUPYTER_SESSION_TIMEOUT_SECONDS", seconds(1, 31536000), 1800.0, "Close a Python session after this idle time."
    )
    warm: bool = variable("WARM_KERNEL", BOOLEAN, True, "Keep a Python kernel ready, so that no caller waits for its start.")
    node: str = variable("NODE_CODE_EXEC_VERSION", NODE_NAME, "node22", "Node.js for callers who name none.", inherited=True)
    max_nodes: int = variable("MAX_NODEJS_SESSIONS", integer(1, 1000), 10, "Node.js sessions. One more is answered 429.")
    output_bytes: int = variable(
        "CODE_OUTPUT_BYTES",
        integer(1 << 16, 1 << 25),
        8 << 20,
        "Output kept of one execution of code, of each stream outside Python. The answer says how much was over.",
    )
    memory_bytes: int = variable(
        "CODE_MEMORY_BYTES", SIZE, 0, "Memory of one execution of code, in bytes. 0: three quarters of the container's."
    )
    max_processes: int = variable(
        "CODE_MAX_PROCESSES",
        integer(0, 1 << 20),
        0,
        "Processes and threads of the agent beyond which code starts no more. 0: half of BOX_MAX_PROCESSES in a box, elsewhere no limit.",
    )
    open_files: int = variable("CODE_MAX_OPEN_FILES", integer(64, 1 << 20), 4096, "Open files of a process of code.")
    file_bytes: int = variable("CODE_MAX_FILE_BYTES", SIZE, 0, "Size of a file that code may write, in bytes. 0: no limit.")
    editor_idle: float = variable(
        "EDITOR_IDLE_SECONDS",
        seconds(1, 31536000),
        1800.0,
        "End code-server after this time without use, and JupyterLab within a minute more.",
    )
    jupyterlab_port: int = variable("JUPYTER_LAB_PORT", PORT, 8888, "Loopback port of JupyterLab.")
    code_server_port: int = variable("CODE_SERVER_PORT", PORT, 8200, "Loopback port of code-server.")
    cpu_seconds: int = variable(
        "CODE_CPU_SECONDS",
        integer(0, 1 << 30),
        0,
        "End a process of code after this processor time; a session's in all. 0: no limit.",
    )
