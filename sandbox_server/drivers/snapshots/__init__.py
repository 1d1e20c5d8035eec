"""Snapshots of the whole computer's memory, which the engine makes from outside: what this side does before and after."""
