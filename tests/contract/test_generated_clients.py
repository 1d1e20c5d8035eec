"""Clients that generators make of the API document compile, with the commands, the settings and the programs of docs/surfaces.md."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_server import generate

PAGE = Path(__file__).parents[2] / "docs/surfaces.md"
SECTION = PAGE.read_text("utf-8").partition("## Generate a client")[2].partition("\n## ")[0]
PACKAGES = Path("/opt/generators/node_modules")
"""Where the generator, the client and the compiler of TypeScript are, in the image of the tests."""
NODE = "/opt/node/22/bin/node"
SECONDS = 120
TYPESCRIPT = {
    "strict": True,
    "noEmit": True,
    "exactOptionalPropertyTypes": True,
    "noUncheckedIndexedAccess": True,
    "skipLibCheck": False,
    "module": "nodenext",
    "target": "es2022",
    "types": [],
}


def block(language: str, number: int = 0) -> str:
    """A block of code of the page's section."""
    found: str = re.findall(rf"^```{language}\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)[number]
    return found


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program that must do without a warning; what it wrote."""
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.defpath}", "HOME": str(cwd), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warning" not in said.lower(), said
    return said


def arguments(number: int, program: str) -> list[str]:
    """The arguments that a command of the page gives to a program."""
    words = shlex.split(block("sh", number))
    return words[words.index(program) + 1 :]


@pytest.fixture(scope="module")
def document() -> str:
    """The API document of this version."""
    return generate.openapi()


@pytest.fixture(scope="module")
def python_client(document: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated Python package."""
    folder = tmp_path_factory.mktemp("python")
    (folder / "openapi.json").write_text(document, "utf-8")
    (folder / "config.yaml").write_text(block("yaml"), "utf-8")
    run("openapi-python-client", *arguments(1, "openapi-python-client"), "--fail-on-warning", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def typescript_client(document: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated types."""
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "openapi.json").write_text(document, "utf-8")
    (folder / "node_modules").symlink_to(PACKAGES)
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    run(NODE, PACKAGES / "openapi-typescript/bin/cli.js", *arguments(0, "openapi-typescript"), cwd=folder)
    return folder


def operations(document: str) -> int:
    """How many operations a document has."""
    return sum(len(verbs) for verbs in json.loads(document)["paths"].values())


def test_a_python_client_has_every_operation_and_each_of_its_modules_loads(document: str, python_client: Path) -> None:
    modules = [file.relative_to(python_client) for file in python_client.glob("sandbox_client/**/*.py")]
    names = [".".join(module.with_suffix("").parts).removesuffix(".__init__") for module in modules]
    run(sys.executable, "-W", "error", "-c", f"import importlib\nfor name in {names}: importlib.import_module(name)", cwd=python_client)

    calls = [module for module in modules if module.parts[1] == "api" and len(module.parts) == 4 and module.stem != "__init__"]
    assert len(calls) == operations(document) > 200


def test_a_python_client_and_a_program_that_uses_it_pass_strict_types(python_client: Path) -> None:
    wrong = 'BashExecRequest(comand="a field that it does not have")  # type: ignore[call-arg]\n'
    (python_client / "program.py").write_text(block("python") + wrong, "utf-8")

    run("mypy", "--strict", "--cache-dir=/dev/null", "sandbox_client", "program.py", cwd=python_client)


def test_a_typescript_client_has_every_operation(document: str, typescript_client: Path) -> None:
    types = (typescript_client / "sandbox.d.ts").read_text("utf-8")
    listed = types.partition("\nexport interface operations {")[2]

    assert len(re.findall(r"^    \w+: \{$", listed, re.MULTILINE)) == operations(document) > 200


def test_a_typescript_client_and_a_program_that_uses_it_pass_strict_types(typescript_client: Path) -> None:
    wrong = '// @ts-expect-error a field that it does not have\nawait sandbox.POST("/v1/bash/exec", { body: { comand: "ls" } });\n'
    (typescript_client / "program.ts").write_text(block("ts") + wrong, "utf-8")
    settings = {"compilerOptions": TYPESCRIPT, "files": ["program.ts", "sandbox.d.ts"]}
    (typescript_client / "tsconfig.json").write_text(json.dumps(settings), "utf-8")

    run(NODE, PACKAGES / "typescript/bin/tsc", "--project", ".", cwd=typescript_client)


def test_the_page_names_the_schema_of_each_streams_events(document: str) -> None:
    streams = {
        f"{verb.upper()} {path}": content["x-itemSchema"]["$ref"].rsplit("/", 1)[1]
        for path, verbs in json.loads(document)["paths"].items()
        for verb, entry in verbs.items()
        if (content := entry["responses"]["200"].get("content", {}).get("text/event-stream"))
    }
    rows = re.findall(r"^\| (`[A-Z].+) \| `(\w+)` \|$", SECTION, re.MULTILINE)

    assert {operation.strip("`"): name for operations, name in rows for operation in operations.split(", ")} == streams
