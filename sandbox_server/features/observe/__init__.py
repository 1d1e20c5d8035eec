"""Observability: the container's resource usage, live and over time."""
