"""The egress policy and what enforces it: rules, synthetic addresses, DNS, first bytes of a connection, the network namespace."""
