"""The action schemas of models that use a computer, as their vendors write them."""
