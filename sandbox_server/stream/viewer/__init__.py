"""One viewer, put together: its rights, its input, its frames, its sound and the side channels beside them."""
