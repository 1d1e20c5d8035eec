"""The sandbox's own identity: tokens, their keys, the binding, and token exchange."""
