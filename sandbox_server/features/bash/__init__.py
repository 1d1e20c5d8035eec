"""Bash: one command at a time in a fresh process, with its two output streams apart."""
