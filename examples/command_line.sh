#!/bin/bash -eu
# The operations from a shell inside the sandbox: `docker exec -u gem tandem bash < examples/command_line.sh`

cd "$(mktemp -d)"
sandbox file write-file --file "$PWD/notes.txt" --content 'milk and bread' >answer.json
sandbox file search-in-file --file "$PWD/notes.txt" --regex bread | jq -r '.matches[0]'
sandbox bash exec --command 'echo "I am $(id -un)"' | jq -r .stdout

if ! sandbox file read-file --file /nowhere 2>why.txt; then
  echo "exit code 1: $(cat why.txt)"
fi
