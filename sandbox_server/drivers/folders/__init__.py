"""Folders of the agent that are synchronised with a store outside of the box."""
