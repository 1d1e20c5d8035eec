"""The sandbox's own identity: its keys, tokens and binding, and how programs in the box get at them."""
