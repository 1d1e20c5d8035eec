"""The first process of the container: `sequence` has the order of the start, the other modules are its steps.

Until the supervisor runs, only the standard library is imported here, which keeps the start under a second.
"""
