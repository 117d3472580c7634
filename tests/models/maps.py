"""A map that several files of this room fit on."""

import quadfeat as qf


def fixed(n=40):
    return qf.HermiteMercer(qf.Gaussian(0.3), n_components=n)
