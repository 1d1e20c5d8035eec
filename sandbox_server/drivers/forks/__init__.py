"""Forks: a checkpoint with the state of shells and tabs as one file, and how another sandbox gets that file at its start."""
