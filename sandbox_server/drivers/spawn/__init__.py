"""Processes of the agent: the spawner that starts every one of them, its client, and the zygotes that fork them."""
