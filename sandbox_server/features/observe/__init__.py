"""Observe: what the container uses, live and over time."""
