"""Conversion of Python values of a fixed list of types to JSON and arrays, and back; reading never executes code from a file."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensors = dict[str, NDArray[Any]]

_LONGEST = 1 << 32
_SPARE = 1 << 14
"""Arrays of at least this size in which most entries are zero are stored as their non-zero entries."""


class BadModel(ValueError):  # noqa: N818
    """The file is not a model, or cannot be used."""


def encode(value: Any, tensors: Tensors, name: str) -> Any:
    """Convert a value to JSON; its arrays are added to `tensors` under names that begin with `name`."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.generic):
        return encode(value.item(), tensors, name)
    if isinstance(value, np.ndarray):
        return _encode_array(value, tensors, name)
    if isinstance(value, list | tuple):
        items = [encode(item, tensors, f"{name}.{place}") for place, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = enumerate(value.items())
        return {"dict": [[encode(k, tensors, name), encode(v, tensors, f"{name}.{n}")] for n, (k, v) in pairs]}
    if hasattr(value, "tocsr"):
        rows = value.tocsr()
        kind = "matrix" if type(value).__name__.endswith("_matrix") else "array"
        parts = {part: encode(getattr(rows, part), tensors, f"{name}.{part}") for part in ("data", "indices", "indptr")}
        return {"csr": {**parts, "shape": list(rows.shape), "kind": kind}}
    return _encode_object(value, tensors, name)


def _encode_object(value: Any, tensors: Tensors, name: str) -> Any:
    from rosenblatt.model.calibration import Calibration
    from rosenblatt.theory.run import RunCertificate

    if isinstance(value, RunCertificate):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"certificate": {key: encode(item, tensors, f"{name}.{key}") for key, item in fields.items()}}
    if isinstance(value, Calibration):
        values = value.to_values().items()
        return {"calibration": {key: encode(item, tensors, f"{name}.{key}") for key, item in values}}
    if isinstance(value, np.random.RandomState):
        return {"RandomState": encode(value.get_state(legacy=True), tensors, name)}
    if isinstance(value, np.random.Generator) and isinstance(value.bit_generator, np.random.PCG64):
        return {"Generator": encode(value.bit_generator.state, tensors, name)}
    raise ValueError(
        f"A model file holds numbers, strings, lists, dicts and arrays; got {value!r} as `{name}`. "
        "Convert it to one of these before saving."
    )


def _encode_array(array: NDArray[Any], tensors: Tensors, name: str) -> Any:
    if array.dtype.kind in "UO":
        if not all(isinstance(item, str) for item in array.ravel().tolist()):
            raise ValueError(
                f"An array of objects in a model file must hold strings; got another type in `{name}`. Convert it before saving."
            )
        return {"strings": array.tolist(), "object": array.dtype.kind == "O"}
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ValueError(
            f"An array in a model file must hold numbers of up to 64 bits; got {array.dtype} in `{name}`. Convert it."
        )
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))
    if array.size >= _SPARE:
        flat = array.reshape(-1)
        used = np.flatnonzero(flat.view(f"u{array.itemsize}"))  # compare bits, so that -0.0 is kept
        if 3 * used.size < flat.size:
            tensors[f"{name}.used"], tensors[f"{name}.values"] = used, flat[used]
            return {"sparse": name, "shape": list(array.shape)}
    tensors[name] = array
    return {"array": name}


def decode(tree: Any, tensors: Tensors) -> Any:
    """Convert JSON made by `encode` back to the value; raise BadModel for anything else."""
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, list):
        return [decode(item, tensors) for item in tree]
    if isinstance(tree, dict) and tree:
        kind, content = next(iter(tree.items()))
        if kind in _DECODERS:
            try:
                return _DECODERS[kind](tree, content, tensors)
            except (KeyError, TypeError, ValueError, IndexError, OverflowError, MemoryError) as error:
                if isinstance(error, BadModel):
                    raise
                raise BadModel(f"its part `{kind}` is damaged ({type(error).__name__}: {error})") from error
    raise BadModel(f"it holds a value of an unknown kind, {str(tree)[:60]}")


def _decode_float(tree: Any, content: Any, tensors: Tensors) -> Any:
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]


def _decode_array(tree: Any, content: Any, tensors: Tensors) -> Any:
    return tensors[content]


def _decode_sparse(tree: Any, content: Any, tensors: Tensors) -> Any:
    used, values, shape = tensors[f"{content}.used"], tensors[f"{content}.values"], tree["shape"]
    size = math.prod(shape) if all(isinstance(n, int) and n > 0 for n in shape) else 0
    sound = (
        size <= _LONGEST and used.dtype == np.int64 and used.ndim == values.ndim == 1 and used.size == values.size
        and (used.size == 0 or (used[0] >= 0 and used[-1] < size)) and bool((np.diff(used) > 0).all())
    )  # fmt: skip
    if not sound:
        raise BadModel(f"the entries of `{content}` do not fit its shape {shape}")
    flat = np.zeros(size, values.dtype)
    flat[used] = values
    return flat.reshape(shape)


def _decode_strings(tree: Any, content: Any, tensors: Tensors) -> Any:
    array = np.array(content, dtype=object)
    if not all(isinstance(item, str) for item in array.ravel().tolist()):
        raise BadModel("a list of strings holds something else")
    return array if tree["object"] else array.astype(np.str_)


def _decode_tuple(tree: Any, content: Any, tensors: Tensors) -> Any:
    return tuple(decode(list(content), tensors))


def _decode_dict(tree: Any, content: Any, tensors: Tensors) -> Any:
    return {decode(key, tensors): decode(value, tensors) for key, value in content}


def _decode_csr(tree: Any, content: Any, tensors: Tensors) -> Any:
    from scipy.sparse import csr_array, csr_matrix

    data, indices, indptr = (decode(content[part], tensors) for part in ("data", "indices", "indptr"))
    rows, columns = content["shape"]
    arrays = all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
    sound = (
        arrays and isinstance(rows, int) and isinstance(columns, int) and indices.dtype.kind == indptr.dtype.kind == "i"
        and indptr.size == rows + 1 and indptr[0] == 0 and indptr[-1] == indices.size == data.size
        and bool((np.diff(indptr) >= 0).all())
        and (indices.size == 0 or (indices.min() >= 0 and indices.max() < columns))
    )  # fmt: skip
    if not sound:
        raise BadModel("the entries of a sparse matrix are outside its shape")
    make = csr_matrix if content["kind"] == "matrix" else csr_array
    return make((data, indices, indptr), shape=(rows, columns))


def _decode_certificate(tree: Any, content: Any, tensors: Tensors) -> Any:
    from rosenblatt.theory.run import RunCertificate

    return RunCertificate(**{key: decode(item, tensors) for key, item in content.items()})


def _decode_calibration(tree: Any, content: Any, tensors: Tensors) -> Any:
    from rosenblatt.model.calibration import Calibration

    return Calibration.from_values({key: decode(item, tensors) for key, item in content.items()})


def _decode_random_state(tree: Any, content: Any, tensors: Tensors) -> Any:
    generator = np.random.RandomState()
    generator.set_state(decode(content, tensors))
    return generator


def _decode_generator(tree: Any, content: Any, tensors: Tensors) -> Any:
    generator = np.random.default_rng()
    generator.bit_generator.state = decode(content, tensors)
    return generator


_DECODERS = {
    "float": _decode_float,
    "array": _decode_array,
    "sparse": _decode_sparse,
    "strings": _decode_strings,
    "tuple": _decode_tuple,
    "dict": _decode_dict,
    "csr": _decode_csr,
    "certificate": _decode_certificate,
    "calibration": _decode_calibration,
    "RandomState": _decode_random_state,
    "Generator": _decode_generator,
}
