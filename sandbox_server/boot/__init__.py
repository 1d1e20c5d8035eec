"""How the container starts: `sequence` is the order, the other modules are its steps.

Everything here is the standard library's until the supervisor is started: a container answers within a second of its start.
"""
