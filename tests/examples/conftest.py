from tests.image.conftest import sandbox

__all__ = ["sandbox"]
