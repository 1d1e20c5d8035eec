"""Fresh randomness: what forks of one memory draw differs once they have asked for it."""

import random

from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox_server.drivers.snapshots.reseed import reseed


def test_pythons_generator_goes_another_way() -> None:
    state = random.getstate()
    expected = random.random()
    random.setstate(state)
    reseed()
    assert random.random() != expected


def test_the_second_openssl_takes_it_too() -> None:
    rsa.generate_private_key(65537, 2048)  # it is loaded, and has drawn
    reseed()
    assert rsa.generate_private_key(65537, 2048).key_size == 2048
