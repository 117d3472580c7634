"""What is public says what it takes and what it has."""

import inspect

import pytest

import quadfeat as qf

CLASSES = [name for name in qf.__all__ if inspect.isclass(getattr(qf, name))]


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_lists_its_attributes(name):
    assert "Attributes\n---" in inspect.getdoc(getattr(qf, name))


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_of_a_public_class_is_in_its_docstring(name):
    kind = getattr(qf, name)
    if name in ("FeatureMap", "Kernel", "Rule"):
        return  # bases without parameters of their own, and a dataclass whose fields are attributes
    text = inspect.getdoc(kind).split("Attributes\n---")[0]
    for parameter in inspect.signature(kind).parameters:
        assert parameter in text, f"{name} does not describe {parameter}"


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_has_a_docstring(name):
    kind = getattr(qf, name)
    for method, function in inspect.getmembers(kind, inspect.isfunction):
        ours = function.__module__.startswith("quadfeat.")
        if ours and not method.startswith("_"):
            assert inspect.getdoc(function), f"{name}.{method} has no docstring"
