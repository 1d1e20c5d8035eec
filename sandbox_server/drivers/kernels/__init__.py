"""Jupyter kernels of the agent: each a process in its box, spoken to through a relay that is in there, too."""
