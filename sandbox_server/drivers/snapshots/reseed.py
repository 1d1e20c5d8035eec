"""Fresh randomness for this process: two copies of one snapshot would otherwise draw the same numbers from its generators."""

import os
import random
import ssl
import sys

SEED_BYTES = 64


def reseed() -> None:
    """Mix the kernel's randomness into the generators of Python, and of both OpenSSL libraries that may be loaded.

    Their generators below the first one notice that it was seeded anew (`RAND_add`, openssl(3)).
    """
    random.seed(os.urandom(SEED_BYTES))
    ssl.RAND_add(os.urandom(SEED_BYTES), SEED_BYTES)
    if "cryptography.hazmat.bindings._rust" in sys.modules:  # it has an OpenSSL of its own
        from cryptography.hazmat.bindings.openssl.binding import Binding

        Binding().lib.RAND_add(os.urandom(SEED_BYTES), SEED_BYTES, SEED_BYTES)
