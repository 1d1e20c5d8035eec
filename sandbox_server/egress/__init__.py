"""The egress process: the only way from the box's network namespace to the world outside, by the policy.

It holds listeners that were made inside the namespace. It has no capability and imports nothing of `core`, to stay small.
"""
