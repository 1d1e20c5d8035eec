"""The command line inside the sandbox: every operation of the API as `sandbox TAG OPERATION --field VALUE`.

It imports the standard library alone, and nothing of `core`, so that it starts in a few hundredths of a second.
"""
