"""The fence: what one execution may read, write, reach and use up, put round it by the kernel before its program runs."""
