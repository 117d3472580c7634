"""Damaged and hostile files raise a ValueError, and nothing in them is run."""

import io
import sys
import zipfile

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data import archive

from ..conftest import MAPS
from .fuzz import mutate, outcome
from .rewriting import rewrite

MUTATED = {
    **{name: MAPS[name] for name in ("dense", "random", "hermite-mercer-compressed", "landmarks")},
    "regressor": lambda: qf.KernelRegressor(MAPS["random"](), alpha=1.0),
    "classifier": lambda: qf.KernelClassifier(MAPS["random"](), alpha=1.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MUTATED)
def test_a_mutated_file_is_refused_or_loads_to_a_usable_object(name, data, tmp_path):
    rng = np.random.default_rng(list(name.encode()))
    labels = np.arange(60) % 3
    qf.save(MUTATED[name]().fit(data[:60, :3], labels), tmp_path / "original")
    whole = (tmp_path / "original").read_bytes()
    for i in range(100):
        (tmp_path / "damaged").write_bytes(mutate(whole, rng))
        # No limit on the time: a test must not depend on the machine.
        assert outcome(tmp_path / "damaged", seconds=np.inf) in ("refused", "loaded"), i


def test_a_later_format_says_that_quadfeat_must_be_upgraded(model):
    rewrite(model, lambda record, members: record.update(format=2, library="quadfeat 9.1"))
    with pytest.raises(ValueError, match=r"format 2.*quadfeat 9\.1.*upgrade"):
        qf.load(model)


def test_a_class_that_is_not_in_the_table_is_refused(model):
    def change(record, members):
        record["content"]["estimator"]["class"] = "subprocess.Popen"

    rewrite(model, change)
    with pytest.raises(ValueError, match=r"'subprocess\.Popen', which this version does not know"):
        qf.load(model)


def test_a_changed_array_does_not_have_its_checksum(model):
    def change(record, members):
        members["0.npy"] = members["0.npy"][:-1] + b"?"

    rewrite(model, change)
    with pytest.raises(ValueError, match="checksum"):
        qf.load(model)


def test_a_pickle_inside_is_refused_unread(model):
    buffer = io.BytesIO()
    np.save(buffer, np.array([sys.exit], dtype=object), allow_pickle=True)

    def change(record, members):
        members["0.npy"] = buffer.getvalue()

    rewrite(model, change)
    with pytest.raises(ValueError, match="holds object"):
        qf.load(model)


def test_members_that_claim_more_than_the_file_holds_are_refused(model):
    header = b"\x93NUMPY\x01\x00v\x00" + (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\n"
    )

    def change(record, members):
        members["0.npy"] = header + bytes(64)

    rewrite(model, change)
    with pytest.raises(ValueError, match="does not fit its length"):
        qf.load(model)
    with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(10_000_000))
    with pytest.raises(ValueError, match="compressed"):
        qf.load(model)


@pytest.mark.parametrize(
    "kernel",
    [
        {"class": "Convolution", "state": {"shape": [4096, 4096], "window": 2048}},
        {"class": "Convolution", "state": {"shape": [2**40], "window": 1}},
        {"class": "Convolution", "state": {"shape": [2**24], "window": 1}},
    ],
    ids=["windows", "length", "groups"],
)
def test_a_kernel_with_too_many_groups_is_refused_before_they_are_made(model, kernel):
    def change(record, members):
        state = record["content"]["estimator"]["state"]
        state["kernel_"], state["n_features_in_"] = kernel, 2**24

    rewrite(model, change)
    with pytest.raises(ValueError, match="groups"):
        qf.load(model)


def test_products_of_products_of_sums_are_refused_before_they_are_made(model):
    def change(record, members):
        state = record["content"]["estimator"]["state"]
        kernel = state["kernel_"]
        kernel = {"class": "Sum", "state": {"left": kernel, "right": kernel}}
        for _ in range(5):
            kernel = {"class": "Product", "state": {"left": kernel, "right": kernel}}
        state["kernel_"] = kernel

    rewrite(model, change)
    with pytest.raises(ValueError, match="groups"):
        qf.load(model)


def test_a_file_of_something_else_is_refused_by_name(tmp_path):
    (tmp_path / "a.qf").write_text("not a model")
    with pytest.raises(ValueError, match=r"a\.qf is not a file of quadfeat"):
        qf.load(tmp_path / "a.qf")
    archive.write(tmp_path / "b.qf", {"checkpoint": 1}, {})
    with pytest.raises(ValueError, match=r"b\.qf holds no saved estimator, but checkpoint"):
        qf.load(tmp_path / "b.qf")
    with pytest.raises(FileNotFoundError, match=r"c\.qf"):
        qf.load(tmp_path / "c.qf")
