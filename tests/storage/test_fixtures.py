"""Files of earlier versions load, and answer as they did."""

from pathlib import Path

import numpy as np
import pytest

import quadfeat as qf

from .make_fixtures import answers

FILES = sorted((Path(__file__).parent / "fixtures").glob("*/*.qf"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_an_earlier_version_answers_as_it_did(path):
    told = np.load(path.with_name("answers.npz"))
    found = answers(qf.load(path), told["X"])
    # The bits are equal on one machine. Instruction sets and builds of BLAS differ in the last
    # ones, which the sums of a few dozen products of size 1 turn into at most 1e-13.
    np.testing.assert_allclose(found, told[path.stem], rtol=1e-13, atol=1e-13)


def test_there_are_files_of_every_kind():
    kinds = {type(qf.load(path)).__name__ for path in FILES}
    assert {"DenseGrid", "HermiteMercer", "Landmarks", "KernelFeatures"} <= kinds
    assert {"KernelRegressor", "KernelClassifier"} <= kinds


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_a_model_of_an_earlier_version_has_a_loss_and_a_table(name):
    model = qf.load(next(path for path in FILES if path.stem == name))
    assert getattr(model, "loss_", None) == getattr(model, "loss", None)
    assert isinstance(model.tuning_, list)
    assert repr(model.tuning_).startswith(("parameter", "nothing"))


def test_a_file_whose_loss_is_not_that_of_its_parameters_is_refused():
    model = qf.load(next(path for path in FILES if path.stem == "classifier"))
    for loss, loss_ in (("ridge", "logistic"), ("auto", "auto"), ("auto", "ridge")):
        model.loss, model.loss_ = loss, loss_
        with pytest.raises(ValueError, match=r"loss|calibration"):
            model.restored()
