import pytest

import quadfeat as qf


@pytest.fixture
def model(data, tmp_path):
    """The path of a saved map."""
    features = qf.RandomFourier(n_components=8, random_state=0).fit(data)
    qf.save(features, tmp_path / "model.qf")
    return tmp_path / "model.qf"
