#!/bin/sh -eu
# What git asks for a credential (gitcredentials(7)): the identity's socket answers, for the hosts that the owner has configured.
exec /opt/venv/bin/python -I -m sandbox_server.cli.git_credential "$@"
