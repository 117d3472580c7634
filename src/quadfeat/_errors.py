"""Errors that callers tell apart, all `ValueError`s, so users need not know them; and a warning."""


class NotSeparable(ValueError):
    """A kernel that is not a product over axes, where a grid or a proof needs one axis."""


class NoMoments(ValueError):
    """A spectrum without the moments that a Gauss rule, or a bound, needs."""


class NoDensity(ValueError):
    """A spectrum whose density is zero at all nodes of a rule, or not known well enough for one."""


class NoCertificate(ValueError):
    """No error below k(0) can be proven for a map; `error` estimates it."""


class NoLattice(ValueError):
    """A map whose columns are not those of one equispaced grid of up to three axes."""


class NoEffects(ValueError, AttributeError):
    """A model without effects: it has no attribute `effects_`, as `dir` and notebooks must know."""


class UnseenValues(UserWarning):
    """Rows have categories or gaps that no training row had."""


class NeedsEncoding(ValueError):
    """A table has text, dates or gaps where numbers are needed; a `TableEncoder` makes numbers."""
