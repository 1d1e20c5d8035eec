"""Drive a shell and files with the published SDK."""

import os

from agent_sandbox import Sandbox

sandbox = Sandbox(
    base_url=os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080"),
    headers={"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"},
)

# A session keeps its directory and its variables from one command to the next.
session = sandbox.shell.create_session(exec_dir="/tmp").data.session_id
sandbox.shell.exec_command(id=session, command="mkdir -p project && cd project && export NAME=world")
result = sandbox.shell.exec_command(id=session, command='echo "hello $NAME from $PWD" | tee hello.txt; grep -q nothing hello.txt').data
print(result.output.strip(), "- exit code", result.exit_code)

# Files are read, changed and undone without a shell.
path = "/tmp/project/hello.txt"
sandbox.file.str_replace_editor(command="str_replace", path=path, old_str="world", new_str="sandbox")
print(sandbox.file.read_file(file=path).data.content.strip())
sandbox.file.str_replace_editor(command="undo_edit", path=path)
print(sandbox.file.read_file(file=path).data.content.strip())

# Anything can go up and come down again, piece by piece.
sandbox.file.upload_file(file=("numbers.bin", bytes(range(256))), path="/tmp/project/numbers.bin")
print(sum(map(len, sandbox.file.download_file(path="/tmp/project/numbers.bin"))), "bytes came back")

# A failure of a file is an answer that says what is wrong.
missing = sandbox.file.read_file(file="/tmp/project/missing.txt")
print(missing.success, missing.data.error_type)

sandbox.shell.cleanup_session(session_id=session)
