"""Errors that callers tell apart. All are `ValueError`s, so users need not know them."""


class NotSeparable(ValueError):
    """A kernel that does not factor over axes, where a grid or a proof needs one axis at a time."""


class NoMoments(ValueError):
    """A spectrum without the moments that a Gauss rule, or a bound, needs."""


class NoCertificate(ValueError):
    """Nothing below k(0) can be proven about a map; `error` estimates what cannot be."""
