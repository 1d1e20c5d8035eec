"""Resource usage of the container: its control group, its filesystems, its processes."""
