"""Maps that several files of this room fit on."""

import quadfeat as qf


def fixed(n=40):
    return qf.HermiteMercer(qf.Gaussian(0.3), n_components=n)


def drawn():
    return qf.RandomFourier(qf.Gaussian(0.4), n_components=16, random_state=0)


def equispaced():
    return qf.DenseGrid(qf.Gaussian(0.5), rule="equispaced", n_points=12)
