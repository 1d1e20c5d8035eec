import pytest
from pydantic import SecretStr

from sandbox_server.features.secrets.operations import PutSecret, SecretOperations, SecretRef, SecretRequestBinding
from tests.features.secrets.conftest import VALUE, RegistryLab

pytestmark = pytest.mark.anyio


async def test_what_was_put_is_listed_without_its_value(lab: RegistryLab) -> None:
    operations = SecretOperations(lab.registry)
    bound = [SecretRequestBinding(hosts=["a.example"], methods=["GET"], places=["query:key"])]
    request = PutSecret(name="A", value=SecretStr(VALUE), bindings=bound, variable="TOKEN")
    assert VALUE not in repr(request)
    made = await operations.put_secret(request)
    assert made.available
    listed = await operations.list_secrets()
    assert [each.name for each in listed] == ["A", "DECLARED"]
    assert listed[0].bindings == [SecretRequestBinding(hosts=["a.example:443"], methods=["GET"], paths=[], places=["query:key"])]
    assert (listed[0].source, listed[1].source, listed[1].declared) == ("api", "env:X", True)
    assert VALUE not in str([each.model_dump() for each in listed])
    await operations.delete_secret(SecretRef(name="A"))
    assert [each.name for each in await operations.list_secrets()] == ["DECLARED"]
