"""Snapshots: nothing is answered between `prepare` and what ends it, and root alone can do either."""
