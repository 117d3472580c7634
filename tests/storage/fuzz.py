"""Model files damaged at random: bytes of the file, or its parts with right checksums.

The law for every mutation: `load` raises a ValueError, or returns an object that evaluates rows or
refuses them with a ValueError. Anything else is a bug, and so is a crash.
"""

import contextlib
import copy
import io
import json
import time
import zipfile

import numpy as np

import quadfeat as qf
from quadfeat import storage
from quadfeat.data import archive

_VALUES = (
    *(None, True, False, 0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**62, -(2**63), 10**40),
    *(0.5, -1.5, 1e308, 1e-308, float("nan"), float("inf"), "", "x", "scale", "median", "gauss"),
    *([], {}, [[]], [0], [0, 1], [-1], {"array": "0"}, {"array": "999"}, {"same": 0}, {"same": -1}),
    *({"tuple": []}, {"dict": {}}, {"class": "Gaussian", "state": {}}, {"class": "eval"}),
)
_NUMBERS = (0, 1, -1, 2, 3, 1000, 2**31, 2**62, -(2**63), 1e308, -1e308, np.nan, np.inf, 1e-320)
_DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128", ">f8", "U3")


def mutate(whole: bytes, rng: np.random.Generator) -> bytes:
    """One damaged version of a file."""
    return mutate_bytes(whole, rng) if rng.random() < 0.3 else _structure(whole, rng)


def outcome(path, seconds: float = 0.1) -> str:
    """What `load` does with a file: "refused", "loaded", or else how it breaks the law."""
    began = time.process_time()  # CPU time of this process, independent of other load
    try:
        loaded = qf.load(path)
    except ValueError:
        elapsed = time.process_time() - began
        return "refused" if elapsed < seconds else f"refused only after {elapsed:.3f} s"
    except BaseException as error:
        return f"load raised {type(error).__name__}: {error}"
    return _used(loaded)


def _used(loaded) -> str:
    d = getattr(loaded, "n_features_in_", 3)
    if d > 10_000:
        return "loaded"
    X = np.linspace(-1, 1, 3 * d).reshape(3, d)
    use = next((u for u in ("predict", "transform") if hasattr(loaded, u)), "__call__")
    try:
        for rows in (X, X.astype(np.float32)):
            with np.errstate(all="ignore"):
                getattr(loaded, use)(rows)
    except ValueError:
        return "loaded"
    except BaseException as error:
        return f"{type(loaded).__name__}.{use} raised {type(error).__name__}: {error}"
    return "loaded"


def mutate_bytes(whole: bytes, rng) -> bytes:
    damaged = bytearray(whole)
    i, j = sorted(int(v) for v in rng.integers(len(whole), size=2))
    kind = rng.integers(6)
    if kind == 0:
        for at in rng.integers(len(whole), size=rng.integers(1, 9)):
            damaged[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del damaged[i:]
    elif kind == 2:
        del damaged[i:j]
    elif kind == 3:
        damaged[i : min(j, i + 64)] = bytes(min(j, i + 64) - i)
    elif kind == 4:
        damaged[i:i] = rng.bytes(int(rng.integers(1, 64)))
    else:  # the central directory, where sizes and places are
        start = whole.rfind(b"PK\x01\x02")
        damaged[start + int(rng.integers(len(whole) - start))] = int(rng.integers(256))
    return bytes(damaged)


def _structure(whole: bytes, rng) -> bytes:
    with zipfile.ZipFile(io.BytesIO(whole)) as parts:
        record = json.loads(parts.read("manifest.json"))
        arrays = {name: np.load(io.BytesIO(parts.read(f"{name}.npy"))) for name in record["sha256"]}
    content = record["content"]
    for _ in range(rng.integers(1, 4)):
        if arrays and rng.random() < 0.6:
            name = str(rng.choice(list(arrays)))
            arrays[name] = _array(arrays[name], list(arrays.values()), rng)
        else:
            _tree(content, rng)
    file = io.BytesIO()
    try:
        archive._write_archive(file, content, arrays)
    except (TypeError, ValueError):  # a mutation that no archive can hold
        return whole
    return file.getvalue()


def _array(array, others, rng):
    kind = rng.integers(9)
    if kind <= 3 and array.size:
        changed = array.copy()
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # text takes no number
            for at in rng.integers(array.size, size=rng.integers(1, 4)):
                changed.flat[at] = _as(rng.choice(_NUMBERS), array.dtype)
        return changed
    if kind == 4:
        return array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    if kind == 5:
        return np.concatenate([array, array]) if array.ndim else array
    if kind == 6:
        return array.reshape(-1) if rng.random() < 0.5 else array[None]
    if kind == 7:
        dtype = str(rng.choice(_DTYPES))
        with np.errstate(all="ignore"):
            return array.astype("U3" if array.dtype.kind == "U" else dtype)
    return others[rng.integers(len(others))].copy()


def _as(value, dtype):
    if dtype.kind in "iu":
        return int(np.clip(np.nan_to_num(value), -(2**62), 2**62))
    return value


def _tree(content, rng) -> None:
    """Replace, remove or duplicate one node of the tree."""
    places = list(_places(content))
    if not places:
        return
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(5)
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 1:
        other, name = places[rng.integers(len(places))]
        holder[key] = copy.deepcopy(other[name])
    elif kind == 2 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif kind == 3 and key == "class":
        holder[key] = str(rng.choice(list(storage.RECIPES)))
    else:
        holder[key] = copy.deepcopy(_VALUES[rng.integers(len(_VALUES))])


def _places(node):
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in list(items):
        yield node, key
        if isinstance(child, dict | list):
            yield from _places(child)
