"""Jupyter kernels of the agent. Each is a process in the box, reached through a relay inside the box."""
