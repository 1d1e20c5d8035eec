"""Processes of the agent: the spawner that starts every one of them, its clients, and the zygotes that fork them."""
