"""
A model that people can read
============================

With an ANOVA kernel a model is a sum of functions of one or two columns. The model learns which.
"""

from sklearn.datasets import load_diabetes

import quadfeat as qf

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
kernel = qf.Anova(qf.Gaussian("learned"))
model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=128)).fit(X, y)
print(model.effects_)

# %%
# Effects add up to the prediction, exactly.

effects = model.effects(X)
total = effects.sum(axis=1) + model.effects_.intercept
assert abs(total - model.predict(X)).max() < 1e-9 * abs(y).max()

# %%
# Bars are shares of the variance of predictions. Each curve has its 95% band, and below it a
# histogram of the rows: look at the band where there are few.

display = qf.EffectsDisplay.from_estimator(model, X, n_effects=5)

# %%
# **When this fails:** the model misses what only three or more columns do together; the fit
# warns if a kernel of all columns would explain clearly more. Effects describe the model, not
# causes.
