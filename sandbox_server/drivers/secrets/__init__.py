"""Secrets that the agent never holds: what they are bound to, where their values come from, and the files that make programs trust."""
