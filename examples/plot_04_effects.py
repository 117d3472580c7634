"""
A model that people can read
============================

With an ANOVA kernel a model is a sum of functions of one or two columns. Which ones, is learned.
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
# Bars are shares of the variance of predictions. Curves have a band of 95% for the curve, and below
# them a histogram of the rows: look at a band where there are few.

display = qf.EffectsDisplay.from_estimator(model, X, n_effects=5)

# %%
# **When this fails:** what only three or more columns do together is not in the model; the fit
# warns if a kernel of all columns would explain clearly more. Effects describe the model, not
# causes.
