"""The network of the synthetic addresses, which exists in the box's network namespace alone (RFC 2544)."""

from ipaddress import IPv4Address, IPv4Network

NETWORK = IPv4Network("198.18.0.0/15")
GATEWAY = IPv4Address("198.18.0.1")
"""The namespace's own address, which no name gets."""
