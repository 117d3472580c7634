"""A fit on a file resumes to the same bits."""

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf
from quadfeat.data import archive
from quadfeat.data.checkpoint import Checkpoint


def _model(**options):
    features = qf.QuasiRandomFourier(qf.Gaussian(0.2), n_components=50, random_state=0)
    return qf.KernelRegressor(features, alpha=0.1, **options)


def test_a_fit_on_a_csv_file_with_blank_lines_resumes_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a:.6f},{np.sin(a):.6f}" for a in rng.normal(size=20_000)]
    for place in (3, 5000, 9000):
        rows[place] += "\n\n"
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(rows))
    whole = _model().fit(tmp_path / "t.csv", "y")
    model = _model(checkpoint=tmp_path / "c", checkpoint_interval=0.0)
    _stop_after_one_block(model, tmp_path / "t.csv", "y")
    assert np.array_equal(clone(model).fit(tmp_path / "t.csv", "y").coef_, whole.coef_)


class _Stopped(Exception):
    pass


def _stop_after_one_block(model, *given):
    """A fit that dies after the first write of its checkpoint."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(_Stopped):
        write = archive.write

        def once(*arguments):
            write(*arguments)
            raise _Stopped

        patch.setattr(archive, "write", once)
        clone(model).fit(*given)


def test_no_checkpoint_is_never_due_resumed_or_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nothing, another = Checkpoint.none(), Checkpoint.none()
    nothing.require("data", "these rows")
    nothing.write("sums", 3, {"gram": np.eye(2)})
    nothing.lasting["gram"] = np.eye(2)
    assert not nothing.active and not nothing.exists and not nothing.due()
    assert nothing.resume("sums") is None and not another.lasting
    nothing.remove()
    assert not any(tmp_path.iterdir())
