#!/bin/sh -eu
# `sandbox`: the operations as commands, and what the container's owner asks of the container itself.
case ${1-} in
  sign-in | plugins | snapshot) module=sandbox_server ;;
  *) module=sandbox_server.cli ;;
esac
exec /opt/venv/bin/python -I -m "$module" "$@"
