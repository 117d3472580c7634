"""One file, all or nothing; what is damaged or hostile is refused, and runs nothing."""

import numpy as np
import pytest

from quadfeat import storage


def test_arrays_and_manifest_come_back_to_the_bit(tmp_path, rng):
    arrays = {
        "double": rng.normal(size=(5, 7)),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "single": rng.normal(size=4).astype(np.float32),
        "strided": rng.normal(size=(6, 6))[::2, ::3],
        "empty": np.empty((0, 3)),
        "scalar": np.array(2.5),
        "integers": np.arange(3),
        "flags": np.array([True, False]),
        "text": np.array(["a", "größer"]),
    }
    manifest = {"n": 3, "x": 0.1, "inf": np.inf, "nested": [{"a": None}]}
    storage.write(tmp_path / "m", manifest, arrays)
    again, back = storage.read(tmp_path / "m")
    assert again == manifest and list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_python_objects_are_never_stored(tmp_path):
    with pytest.raises(TypeError, match="objects"):
        storage.write(tmp_path / "m", {}, {"a": np.array([{}], dtype=object)})
    assert not list(tmp_path.iterdir())
