"""E2B's protocol: its control plane, and in each sandbox envd and the code interpreter, on Tandem's own operations."""
