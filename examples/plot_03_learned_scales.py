"""
A length scale for every column
===============================

With one length scale for all columns, useless columns make similar rows look far apart. Length
scales learned from the targets become so long in useless columns that these no longer matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

import quadfeat as qf

X, y = make_friedman1(1500, n_features=12, noise=1.0, random_state=0)  # only 0 to 4 matter
train, test = slice(0, 1000), slice(1000, None)

# %%
# ``"tuned"`` searches one scale for all columns, ``"learned"`` one for each; both maximise the
# likelihood of the training targets.

scores = {}
for word in ("tuned", "learned"):
    features = qf.HermiteMercer(qf.Gaussian(word), n_components=256)
    model = qf.KernelRegressor(features).fit(X[train], y[train])
    scores[word] = model.score(X[test], y[test])
print({word: round(score, 3) for word, score in scores.items()})
assert scores["learned"] > scores["tuned"]

# %%
# Length scales, in standard deviations of their column. The kernel hardly changes along a column
# whose scale is many deviations long.

scales = 1 / np.sqrt(2 * np.asarray(model.features_.kernel_.gamma)) / X.std(axis=0)
figure, (left, right) = plt.subplots(1, 2, width_ratios=[2, 1])
colours = ["#0b3c5d" if i < 5 else "#b9b9b9" for i in range(12)]
left.bar(range(12), scales, color=colours)
left.set(yscale="log", xticks=range(12), xlabel="column", ylabel="length scale / deviation")
left.set_title("Grey columns are noise")
right.bar(["one scale", "learned"], scores.values(), color=["#b9b9b9", "#0b3c5d"])
right.set(ylim=(0, 1), ylabel="R² of 500 new rows", title="What it gains")

# %%
# **When this fails:** with few rows or much noise the likelihood prefers scales that fit the noise,
# and columns that are copies of each other share their influence in an arbitrary way. With
# ``KernelRegressor()`` the choice between one scale, many, and a metric is made on validation rows.
