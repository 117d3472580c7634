"""Front end, recogniser and reference levels."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from quadfeat.experiments.datasets import Data
from quadfeat.experiments.figures import fig2c_cells
from quadfeat.experiments.speech import front_end, references
from quadfeat.experiments.speech.front_end import Projection
from quadfeat.experiments.speech.recogniser import StateFeatures, Task
from quadfeat.experiments.speech.utterances import N_STATES, Utterance, select
from quadfeat.experiments.speech.utterances import rows as labelled_rows
from quadfeat.kernels.stationary import Gaussian
from quadfeat.maps.random import RandomFourier
from quadfeat.models.classifier import KernelClassifier


def test_stacking_sets_neighbours_side_by_side():
    frames = np.arange(12, dtype=np.float32)[:, None] + np.zeros(40, dtype=np.float32)
    stacked = front_end.stack(frames).reshape(12, 11, 40)[:, :, 0]
    np.testing.assert_array_equal(stacked[6], np.arange(1, 12))
    np.testing.assert_array_equal(stacked[0], [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5])


def test_discriminants_whiten_the_states_and_order_their_means(corpus):
    learned = select(Data(corpus).speech(), "train")
    own = Projection.fit(learned)
    X, y = labelled_rows(learned, lambda u: front_end.stack(u.frames).astype(np.float64))
    Z = (X - own.mean) @ own.directions
    means = np.array([Z[y == state].mean(axis=0) for state in y])
    within, between = ((part.T @ part) / len(Z) for part in (Z - means, means))
    # Rounding, times the condition of the 440 stacked inputs.
    np.testing.assert_allclose(within, np.eye(40), atol=1e-7)
    spread = np.diag(between)
    np.testing.assert_allclose(between, np.diag(spread), atol=1e-7 * spread[0])
    assert (np.diff(spread) <= 1e-7 * spread[0]).all()


def test_nothing_is_fitted_to_unseen_speakers(corpus):
    utterances = Data(corpus).speech()

    def task(changed):
        rng = np.random.default_rng(0)
        heard = []
        for u in utterances:
            noise = rng.normal(size=u.frames.shape).astype(np.float32)
            if u.part in changed:
                u = Utterance(u.name, u.speaker, u.part, noise, u.phone, u.third, u.spoken[::-1])
            heard.append(u)
        return Task.build(select(heard, "train"), select(heard, "dev"))

    plain, other = task(()), task(("dev", "test"))
    np.testing.assert_array_equal(plain.X, other.X)
    np.testing.assert_array_equal(plain.inputs.directions, other.inputs.directions)
    np.testing.assert_array_equal(plain.phones.follow, other.phones.follow)
    np.testing.assert_array_equal(plain.log_prior, other.log_prior)
    assert not np.array_equal(plain.X, task(("train",)).X)


def test_dropped_frames_are_decoded_but_not_learned(corpus):
    utterances = Data(corpus).speech()
    task = Task.build(select(utterances, "train"), select(utterances, "dev"))
    assert (task.y >= 0).all()
    assert any((u.state < 0).any() for u in task.unseen)
    posteriors = [np.zeros((len(u.phone), N_STATES)) for u in task.unseen]
    assert task.cross_entropy(posteriors) == 0.0
    errors = task.phone_errors(posteriors, bigram_weight=1.0, prior_weight=1.0)
    assert len(errors) == len(task.unseen)


def test_the_network_stops_where_it_predicts_development_speakers_best(monkeypatch):
    entropies = {"dev": [3.0, 2.0, 2.5, 1.5, 1.6, 1.7, 1.8, 0.0], "test": [9.0] * 8}
    seen = []

    def epochs(part):
        for k in range(8):
            seen.append(part)
            yield part, k

    monkeypatch.setattr(references, "_epochs", lambda task: epochs(task.part))
    development, final = (
        SimpleNamespace(part=part, cross_entropy=lambda found: entropies[found[0]][found[1]])
        for part in ("dev", "test")
    )
    assert references._network(development, final) == (("dev", 3), ("test", 3))
    assert seen == ["dev"] * 7 + ["test"] * 4


@pytest.mark.long
def test_the_linear_level_is_that_of_scikit_learns_logistic_regression(corpus, monkeypatch):
    monkeypatch.setattr(fig2c_cells, "_LEARN_EVERY", {"small": 4})
    work = fig2c_cells._Work(Data(corpus), "small")
    task, final = (make(stacked=True) for make in (work.development_task, work.final_task))
    found, of_others = references._linear(task, final)
    logistic = LogisticRegression(C=1 / references._LINEAR_PENALTY, tol=1e-6, max_iter=1000)
    model = make_pipeline(StandardScaler(), logistic).fit(task.X.astype(float), task.y)
    best = task.log_posteriors(model.predict_proba(task.X_unseen), model.classes_)
    # One more pass would save 1e-5 of the loss; that of other speakers moves by its root.
    assert task.cross_entropy(found) == pytest.approx(task.cross_entropy(best), rel=0.003)
    # The same function of another task: better than its states' shares alone.
    shares = [np.tile(final.log_prior, (len(u.phone), 1)) for u in final.unseen]
    assert final.cross_entropy(of_others) < final.cross_entropy(shares)


def test_a_task_of_every_second_frame_keeps_the_discriminants_of_all(corpus):
    training, unseen = (select(Data(corpus).speech(), part) for part in ("train", "test"))
    whole, half = (Task.build(training, unseen, every=every) for every in (1, 2))
    np.testing.assert_array_equal(half.X, whole.X[::2])
    np.testing.assert_array_equal(half.y, whole.y[::2])
    np.testing.assert_array_equal(half.inputs.directions, whole.inputs.directions)


def test_states_are_predicted_as_by_the_classifier_of_the_library(corpus):
    training, unseen = (select(Data(corpus).speech(), part) for part in ("train", "test"))
    task, alpha, tolerance = Task.build(training, unseen, every=4), 10.0, 1e-9
    features = RandomFourier(Gaussian(0.01), n_components=50, random_state=0)
    made = StateFeatures.fit(task, features)
    found = np.concatenate(made.log_posteriors(alpha=alpha, rank=None, tolerance=tolerance))
    model = KernelClassifier(features, loss="logistic", alpha=alpha).fit(task.X, task.y)
    expected = np.log(model.predict_proba(task.X_unseen))
    # Both are within 1e-7 of the least loss, at most n log(classes); it curves by alpha at least,
    # and a change of weights by dW moves a row of length 1 and so each log probability by 2 |dW|.
    loss = len(task.X) * np.log(len(model.classes_))
    change = 2 * np.sqrt(2 * 1e-7 * loss / alpha)
    assert np.abs(found[:, model.classes_] - expected).max() <= 2 * change
