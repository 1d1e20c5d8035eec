"""What all models of the API have in common."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Fields that a newer server has more are kept as they are. A class is made ready when it is used first."""

    model_config = ConfigDict(extra="allow", defer_build=True, populate_by_name=True, protected_namespaces=())
