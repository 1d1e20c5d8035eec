"""What the container uses: its control group, its filesystems, its processes."""
