"""
Where a model has to run
========================

A fitted model becomes an ONNX file, which runs without Python, quadfeat or scikit-learn.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import quadfeat as qf

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
features = qf.HermiteMercer(qf.Gaussian("median"), n_components=256)
model = qf.KernelClassifier(features, loss="ridge").fit(X_train, y_train)

# %%
# Labels, scores and probabilities are in the file.

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "digits.onnx"
qf.to_onnx(model, path)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
rows = X_test.astype(np.float32)
label, chance = session.run(["label", "probabilities"], {"X": rows})
assert (label == model.predict(X_test)).all()
print(f"{path.stat().st_size / 1024:.0f} kB, {(label == y_test).mean():.3f} right")

# %%
# How much do the probabilities differ, and how long does a prediction take?


def milliseconds(run, repeats=15):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


times = {
    "quadfeat": milliseconds(lambda: model.predict(rows)),
    "onnxruntime": milliseconds(lambda: session.run(["label"], {"X": rows})),
}
difference = np.abs(chance - model.predict_proba(X_test)).max(axis=1)
figure, (left, right) = plt.subplots(1, 2)
left.hist(np.log10(difference), bins=25, color="#0b3c5d")
left.set(xlabel="log10 of the largest difference", ylabel="rows", title="float32 against float64")
right.bar(times.keys(), times.values(), color=["#b3541e", "#9a9a9a"])
right.set(ylabel="ms for 450 rows", title="Time to predict, this machine")
folder.cleanup()

# %%
# **When this fails:** the file does not check rows, so a missing value gives a meaningless label. A
# kernel given as a function of two rows has no formula to export. :doc:`/export` has the
# largest difference for every map and kernel, and export to torch.
