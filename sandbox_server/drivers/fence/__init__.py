"""The fence: kernel-enforced limits on what one execution may read, write, reach and use up."""
