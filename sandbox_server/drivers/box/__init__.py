"""The box: a Linux of the agent's own, and the layers that its files are kept in."""
