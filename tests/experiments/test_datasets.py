"""Data sets are found, or an error names what is missing."""

from urllib.error import URLError

import numpy as np
import pytest

from quadfeat.experiments import datasets
from quadfeat.experiments.datasets import Data


def test_the_data_folder_is_the_option_or_the_environment_or_none(tmp_path, monkeypatch):
    monkeypatch.delenv("QUADFEAT_DATA", raising=False)
    assert Data.find().folder is None
    with pytest.raises(ValueError, match=r"holds neither mnist\.npz"):
        Data.find(tmp_path)
    (tmp_path / "mnist.npz").touch()
    assert Data.find(tmp_path).folder == tmp_path
    with pytest.raises(ValueError, match="--data names"):
        Data.find(tmp_path / "nowhere")
    monkeypatch.setenv("QUADFEAT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="QUADFEAT_DATA names"):
        Data.find()


def test_digits_stand_in_where_mnist_is_absent(tmp_path):
    images = Data(tmp_path).mnist()
    assert (images.name, images.side) == ("digits", 8)
    assert images.X_train.shape == (1200, 64) and images.X_train.dtype == np.float32
    assert images.X_train.min() == 0 and images.X_train.max() == 1


def test_a_corrupt_mnist_is_named(tmp_path):
    (tmp_path / "mnist.npz").write_bytes(b"broken")
    with pytest.raises(ValueError, match=r"mnist\.npz.*copy it again"):
        Data(tmp_path).mnist()


@pytest.mark.parametrize("where", range(0, 4000, 500))
def test_an_archive_with_bytes_overwritten_is_named(tmp_path, where):
    path, rng = tmp_path / "mnist.npz", np.random.default_rng(0)
    X, y = rng.integers(0, 256, size=(2, 28, 28), dtype=np.uint8), np.zeros(2, dtype=np.uint8)
    np.savez_compressed(path, X_train=X, y_train=y, X_test=X, y_test=y)
    content = bytearray(path.read_bytes())
    content[where : where + 40] = bytes(len(content[where : where + 40]))
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"mnist\.npz is not a readable MNIST.*copy it again"):
        Data(tmp_path).mnist()


def test_an_array_or_another_shape_is_no_mnist(tmp_path):
    path = tmp_path / "mnist.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="is not a readable MNIST"):
        Data(tmp_path).mnist()
    np.savez(path, X_train=np.zeros((2, 9)), y_train=[0, 1], X_test=np.zeros((2, 9)), y_test=[0, 1])
    with pytest.raises(ValueError, match="is not a readable MNIST"):
        Data(tmp_path).mnist()


def test_mnist_is_read_with_its_official_split(data_folder):
    images = Data(data_folder).mnist()
    assert images.X_train.shape == (60_000, 784) and images.X_test.shape == (10_000, 784)
    assert np.bincount(images.y_test).tolist()[:3] == [980, 1135, 1032]


def test_a_fetched_mnist_is_divided_as_the_file_is(monkeypatch):
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[60_000:] = 255
    y = np.array(["3"] * 60_000 + ["7"] * 10_000)
    monkeypatch.setattr(datasets, "fetch_openml", lambda name, **options: (X, y))
    data = datasets.Data(None, fetch=True)
    images = data.mnist()
    assert data.mnist_name() == images.name == "MNIST" and not data.substitute()
    assert images.X_train.shape == (60_000, 784) and images.X_train.max() == 0
    assert images.X_test.shape == (10_000, 784) and images.X_test.min() == 1
    assert set(images.y_train) == {3} and set(images.y_test) == {7}


def test_no_network_ends_in_one_sentence(monkeypatch):
    def fail(name, **options):
        raise URLError("no route")

    monkeypatch.setattr(datasets, "fetch_openml", fail)
    with pytest.raises(ValueError, match=r"--fetch could not download.*no route.*mnist\.npz"):
        datasets.Data(None, fetch=True).mnist()
