"""Bash: one command at a time in a new process, with separate output streams."""
