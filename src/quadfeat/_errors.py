"""Errors that callers distinguish (all `ValueError`s, so users need not know them); a warning."""


class NotSeparable(ValueError):
    """The kernel is not a product over axes, but a grid or a proof needs one axis."""


class NoMoments(ValueError):
    """The spectrum lacks the moments that a Gauss rule, or a bound, needs."""


class NoDensity(ValueError):
    """The density of the spectrum is zero at all nodes of a rule, or not known well enough."""


class NoCertificate(ValueError):
    """No error below k(0) can be proven for a map; `error` estimates it."""


class NoLattice(ValueError):
    """The columns of the map are not those of one equispaced grid of up to three axes."""


class NoEffects(ValueError, AttributeError):
    """The model has no effects, and so no attribute `effects_`; `dir` and notebooks need this."""


class UnseenValues(UserWarning):
    """Rows have categories or gaps that no training row had."""


class NeedsEncoding(ValueError):
    """The table has text, dates or gaps but numbers are needed; use a `TableEncoder`."""
