"""
Classes with probabilities that can be believed
===============================================

If a classifier is 80% sure of some rows, it should be right on 80% of them. Least squares is quick
because it is solved in closed form, but its scores are not probabilities. So the model fits a
temperature to the scores of held-out rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

import quadfeat as qf

X, y = make_blobs(6000, centers=[[0, 0], [2, 0], [1, 1.7]], cluster_std=1.0, random_state=0)
train, test = slice(0, 1500), slice(1500, None)

# %%
# Least squares and logistic, and for comparison a plain softmax of the scores.

features = qf.DenseGrid(qf.Gaussian(0.2), n_points=10)
models = {
    loss: qf.KernelClassifier(features, loss=loss).fit(X[train], y[train])
    for loss in ("ridge", "logistic")
}
chances = {loss: model.predict_proba(X[test]) for loss, model in models.items()}
chances["ridge, no temperature"] = softmax(models["ridge"].decision_function(X[test]), axis=1)
losses = {name: log_loss(y[test], chance) for name, chance in chances.items()}
print({name: round(float(loss), 4) for name, loss in losses.items()})
assert losses["ridge"] < losses["ridge, no temperature"]

# %%
# On the diagonal the predicted probability is the observed share.

figure, (left, right) = plt.subplots(1, 2)
left.plot([0, 1], [0, 1], color="#777777", linewidth=1)
lines = {"ridge": "o-", "logistic": "s--", "ridge, no temperature": "^:"}
for name, chance in chances.items():
    happened, said = calibration_curve(y[test] == 2, chance[:, 2], n_bins=8)
    left.plot(said, happened, lines[name], label=name)
left.set(xlabel="probability said", ylabel="share of class 2", title="4,500 new rows")
left.legend()
grid = np.stack(np.meshgrid(np.linspace(-3, 5, 120), np.linspace(-3, 5, 100)), axis=-1)
sure = models["ridge"].predict_proba(grid.reshape(-1, 2)).max(axis=1).reshape(100, 120)
shades = right.contourf(grid[..., 0], grid[..., 1], sure, levels=8, cmap="bone")
figure.colorbar(shades, ax=right)
for label, marker in enumerate("o+x"):
    rows = X[train][y[train] == label][:60]
    right.plot(rows[:, 0], rows[:, 1], marker, color="#b3541e", markersize=3)
right.set(title="Probability of the likeliest class", xticks=[], yticks=[])

# %%
# **When this fails:** probabilities hold for the training distribution. If one class becomes more
# common later, or rows come from elsewhere, they are wrong; ``class_weight`` shifts them, too.
