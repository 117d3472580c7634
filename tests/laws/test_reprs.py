"""Every object that a notebook shows: short text, whole and escaped HTML, with its numbers."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

import quadfeat as qf

from ..conftest import KERNELS, MAPS

VOID = {"br", "img", "input", "hr", "meta", "link", "path"}


class Tags(HTMLParser):
    """Whether tags are closed in the order in which they were opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong = [], []
        self.feed(text)
        assert not self.open and not self.wrong

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def html(shown):
    """What a notebook shows, after a check that it is whole."""
    bundle = getattr(shown, "_repr_mimebundle_", None)
    text = shown._repr_html_() if bundle is None else bundle()["text/html"]
    Tags(text)
    return text


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [3, 40])
def test_kernels_tell_their_parameters_in_a_few_lines(name, d):
    kernel = KERNELS[name](d)
    shown = html(kernel)
    assert type(kernel).__name__ in shown
    assert all(f"<th>{parameter}</th>" in shown for parameter in kernel.get_params(deep=False))
    assert "sk-estimator" not in shown, "a kernel is no diagram"
    assert len(repr(kernel)) < 3000 and "\n" not in repr(kernel)


@pytest.mark.parametrize("name", MAPS)
def test_fitted_maps_tell_kernel_and_columns_before_their_diagram(name, rows):
    features = MAPS[name]()
    assert "fitted</strong>" not in html(features)
    features.fit(rows[0])
    shown = html(features)
    assert f"{type(features).__name__}, fitted</strong>" in shown
    assert f"<td>{features.n_columns_:,}, from 3 of X</td>" in shown
    assert shown.index("fitted</strong>") < shown.index("sk-estimator")


def test_a_chosen_map_tells_its_error_and_why(rows):
    features = qf.KernelFeatures(n_components=16, random_state=0).fit(rows[0])
    shown = html(features)
    trial = next(t for t in features.report_.trials if t.name == features.report_.chosen)
    assert f"RMS {trial.rms:.3g}, largest {trial.max:.3g}" in shown
    assert trial.name in html(features.report_)


def test_models_tell_what_they_predict_and_what_matters(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["<zz>first</zz>", "second", "third"])
    features = qf.HermiteMercer(qf.Gaussian(0.123456), n_components=16)
    model = qf.KernelRegressor(features)
    assert "fitted</strong>" not in html(model)
    shown = html(model.fit(frame, y))
    share = model.feature_importances_[0]
    for text in (
        "a number",
        "HermiteMercer: 16 columns",
        "Gaussian(gamma=0.123)",
        f"alpha {model.alpha_:.3g}",
        f"standard deviation {np.sqrt(model.noise_):.3g}",
        f"&lt;zz&gt;first&lt;/zz&gt; {share:.0%}",
    ):
        assert text in shown
    assert "<zz>" not in shown
    labels = np.array([f"<i>{k}</i>" for k in range(7)])[np.arange(150) % 7]
    classifier = qf.KernelClassifier(features).fit(X, labels)
    shown = html(classifier)
    assert "7 classes: &lt;i&gt;0&lt;/i&gt;" in shown and "2 more" in shown
    assert classifier.loss_ in shown


def test_a_table_tells_what_became_of_its_columns():
    frame = pd.DataFrame({"size": [1.0, 2.0, None] * 20, "id": range(60), "kind": list("abc") * 20})
    features = qf.HermiteMercer(qf.Gaussian(1.0), n_components=8)
    with pytest.warns(UserWarning, match="id"):
        model = qf.KernelRegressor(features).fit(frame, [1.0, 2.0, 3.0] * 20)
    assert "3 columns became" in html(model) and "left out: id" in html(model)
    shown = html(model.encoder_)
    for text in ("category", "left out", "an id: whole numbers that never repeat"):
        assert text in shown


def test_every_attribute_that_a_fitted_model_lists_can_be_read(rows):
    features = qf.HermiteMercer(qf.Gaussian(1.0), n_components=16)
    for model in (qf.KernelRegressor(features), qf.KernelClassifier(features)):
        X, y = rows
        model.fit(X, y if isinstance(model, qf.KernelRegressor) else y > 0)
        assert "effects_" not in dir(model)  # its kernel has no subsets
        for name in dir(model):
            getattr(model, name)


def test_what_is_proven_and_what_is_estimated_have_tables(rows):
    X = rows[0][:, :2]
    grid = qf.DenseGrid(qf.Gaussian(0.5), n_points=6).fit(X)
    proof, estimate = grid.certificate(X), grid.error(X)
    assert f"at most {proof.value:.3g} of k(0)" in html(proof)
    shown = html(estimate)
    assert f"{estimate.rms:.3g}" in shown and f"{estimate.rms_limit:.3g}" in shown
    assert "95% confidence" in shown


def test_what_was_chosen_is_told_before_all_that_was_tried(rows):
    features = qf.HermiteMercer(qf.Gaussian(1.0), n_components=16)
    model = qf.KernelRegressor(features).fit(*rows)
    shown = html(model.tuning_)
    first, rest = shown.split("<details>")
    assert first.count("<tr") == 2 and rest.count("<tr") == 1 + len(model.tuning_)
    assert "nothing was tried" in html(qf.KernelRegressor(features, alpha=1.0).fit(*rows).tuning_)


def test_the_diagram_of_a_pipeline_and_plain_text_stay(rows):
    pipeline = make_pipeline(qf.KernelFeatures(n_components=8, random_state=0)).fit(rows[0])
    assert "KernelFeatures" in pipeline._repr_mimebundle_()["text/html"]
    with sklearn.config_context(display="text"):
        assert set(pipeline[0]._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(qf.Gaussian(), "_repr_html_")
