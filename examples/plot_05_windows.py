"""
Windows on digits
=================

A convolution kernel compares each small window of one image with the window at the same place in
the other, and adds up: the kernel version of a layer of filters. The paper tests it on MNIST.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split

import quadfeat as qf

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
kernel = qf.Convolution(shape=(8, 8), window=3, base=qf.Gaussian(0.5))  # 36 windows

# %%
# The same number of columns, spent on windows or on whole images.


def accuracy(features):
    Z, Z_test = features.fit_transform(X_train), features.transform(X_test)
    return RidgeClassifier(alpha=0.1).fit(Z, y_train).score(Z_test, y_test)


columns = [72, 144, 288, 720, 1440]
whole = qf.Gaussian("median")
curves = {
    "windows, subsampled grid": [
        accuracy(qf.SubsampledGrid(kernel, n_components=p, random_state=0)) for p in columns
    ],
    "whole image, random": [
        accuracy(qf.RandomFourier(whole, n_components=p, random_state=0)) for p in columns
    ],
    "whole image, Hermite-Mercer": [
        accuracy(qf.HermiteMercer(whole, n_components=p)) for p in columns
    ],
}
print({name: np.round(values, 3).tolist() for name, values in curves.items()})

# %%
# The filters of one window: every feature is the cosine or sine of a window's pixels times one of
# these patterns.

features = qf.SubsampledGrid(kernel, n_components=720, random_state=0).fit(X_train)
window = [8 * i + j for i in (2, 3, 4) for j in (2, 3, 4)]
nodes = features.rule_.nodes  # frequencies of all 64 pixels, zero outside of their window
filters = nodes[~np.delete(nodes, window, axis=1).any(axis=1)][:, window]

figure = plt.figure(figsize=(7.2, 3.6))
grid = figure.add_gridspec(3, 7)
ax = figure.add_subplot(grid[:, :4])
for (name, values), line in zip(curves.items(), ("s-", "o--", "D:"), strict=True):
    ax.semilogx(columns, values, line, label=name)
ax.set(xlabel="columns", ylabel="accuracy on 450 images", ylim=(0.8, 1.0))
ax.set_xticks(columns, columns)
ax.minorticks_off()
ax.legend(loc="lower right")
for i, pattern in enumerate(filters[:9]):
    small = figure.add_subplot(grid[i // 3, 4 + i % 3])
    small.imshow(pattern.reshape(3, 3), cmap="PuOr", vmin=-3, vmax=3)
    small.axis("off")

# %%
# **When this fails:** where position does not matter (an object anywhere in a photo) windows at
# fixed places do not help, and on images this small a smooth kernel of the whole image does as
# well with fewer columns.
