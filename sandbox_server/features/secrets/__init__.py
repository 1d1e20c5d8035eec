"""Secrets that programs of the agent use without holding them."""
