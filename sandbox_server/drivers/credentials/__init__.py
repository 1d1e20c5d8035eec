"""Credentials and what they allow: keys, tokens, tickets and grants."""
