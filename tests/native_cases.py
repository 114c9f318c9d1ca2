"""Calls of every compiled function with all its types, and hashes of the results: ``python -m tests.native_cases``.

`tests/test_native.py` runs this file with the compiled library, for each level of processors, and with Numba, and compares
what it prints. Each line is a case with the hash of everything that it computed; the last line lists the functions that were
called, with the types of their arguments.
"""

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from rosenblatt.engine import native

CALLED = set()

_LETTERS = {"float64": "d", "float32": "f", "int64": "q", "int32": "i", "uint8": "B", "uint32": "I", "uint64": "Q"}


def key(arguments):
    """The types of arguments as the library writes them."""
    parts = []
    for argument in arguments:
        if isinstance(argument, tuple):
            parts.append(f"({key(argument)})")
        elif isinstance(argument, np.ndarray):
            parts.append(f"{_LETTERS.get(argument.dtype.name)}{argument.ndim}")
        else:
            parts.append("s")
    return "".join(parts)


def record_calls():
    """Note every call of a function of the library, before anything is looked up in it."""
    bind = native.LIBRARY.bind

    def noted(name, otherwise):
        function = bind(name, otherwise)

        def call(*arguments):
            CALLED.add((name, key(arguments)))
            return function(*arguments)

        return call

    if native.LIBRARY.module is not None:
        native.LIBRARY.bind = noted


if __name__ == "__main__":
    record_calls()

import rosenblatt as rb  # noqa: E402 - after `record_calls`
from rosenblatt.data.streams import open_stream  # noqa: E402
from rosenblatt.data.vocabulary import Vocabulary  # noqa: E402
from rosenblatt.engine import entries  # noqa: E402
from rosenblatt.model.linear import Model  # noqa: E402
from rosenblatt.model.matrix import Table  # noqa: E402
from rosenblatt.training.progressive import learn_records  # noqa: E402


def digest(*values):
    """A hash of arrays, numbers, texts and nested sequences of them, bit for bit."""
    state = hashlib.sha256()

    def add(value):
        if isinstance(value, np.ndarray) and value.dtype != object:
            state.update(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (list, tuple, np.ndarray)):
            state.update(b"(")
            for part in value:
                add(part)
            state.update(b")")
        elif sp.issparse(value):
            add((value.indptr, value.indices, value.data))
        else:
            state.update((value.hex() if isinstance(value, float) else repr(value)).encode())

    add(values)
    return state.hexdigest()[:16]


def weights(model):
    """Everything that a run has changed."""
    state, memory = model.state, model.memory
    counters = [numbers.item() for numbers in state.tally[0]]
    return (
        state.w,
        state.bias,
        state.v,
        state.u,
        state.u_bias,
        counters,
        *(memory.arrays[name] for name in sorted(memory.arrays) if name not in ("own", "scratch")),
    )


# ---- training loops, scores and votes ----

KINDS = {
    "Additive": (rb.AveragedPerceptron, {}),
    "Penalized": (rb.AveragedPerceptron, {"penalty": "elasticnet", "alpha": 0.3, "l1_ratio": 0.1}),
    "Scaled": (rb.ROMMA, {}),
    "Diagonal": (rb.AROW, {}),
    "Full": (rb.AROW, {"covariance": "full"}),
    "Committee": (rb.ParallelPerceptron, {"n_perceptrons": 3}),
}


def examples(classes, dtype):
    rng = np.random.default_rng(classes)
    X = (rng.standard_normal((60, 21)) * (rng.random((60, 21)) < 0.6)).astype(dtype)
    return X, rng.integers(0, classes, 60)


def forms(X):
    yield "dense", X
    for index in (np.int32, np.int64):
        csr = sp.csr_array(X)
        csr.indptr, csr.indices = csr.indptr.astype(index), csr.indices.astype(index)
        yield f"csr {np.dtype(index)}", csr


def widened(rows):
    """The same rows as float64; sparse ones keep the type of their indices."""
    if not sp.issparse(rows):
        return rows.astype(np.float64)
    wide = rows.copy()
    wide.data = wide.data.astype(np.float64)
    return wide


def loops(kind):
    """All loops of a kind of rules."""
    learner, parameters = KINDS[kind]
    for classes in (2,) if kind == "Committee" else (2, 3):
        for dtype in (np.float64, np.float32):
            X, y = examples(classes, dtype)
            for form, rows in forms(X):
                model = learner(max_iter=2, tol=None, random_state=0, **parameters).fit(rows, y)
                yield f"fit {classes} {np.dtype(dtype)} {form}", weights(model.model_), model.decision_function(rows)
                if kind != "Committee":
                    core, table = averaging(model, np.float64), Table(widened(rows))
                    core.add_class(*range(classes))
                    yield f"averaged {classes} {np.dtype(dtype)} {form}", averaged(core, table, y), weights(core)
            stream = learner(**parameters)
            stream.partial_fit(X[:classes], np.arange(classes), classes=np.arange(classes))
            yield (
                f"dense {classes} {np.dtype(dtype)}",
                [stream.learn_one(x, label) for x, label in zip(X, y)],
                weights(stream.model_),
            )
            core = learner(**parameters)._new_model(None, dtype)
            core.add_class(*range(classes))
            records = [{str(j): float(v) for j, v in enumerate(x) if v} for x in X]
            guesses = [core.learn_one(x, label) for x, label in zip(records, y.tolist())]
            last = rb.Perceptron()._new_model(None, dtype)
            last.add_class(*range(classes))
            guesses += [last.learn_one(x, label) for x, label in zip(records, y.tolist(), strict=True)]
            guesses += [one.predict_one(x) for one in (core, last) for x in records]
            yield f"sparse {classes} {np.dtype(dtype)}", guesses, weights(core)
            yield f"records {classes} {np.dtype(dtype)}", learned(core, records, y.tolist()), weights(core)


def averaging(learner, dtype):
    """A new model that keeps an average."""
    return Model(learner._rule(), readout="average", n_features=21, dtype=dtype)


def averaged(model, table, y):
    """Predict with the average and learn, for any kind of rules."""
    guesses = np.empty(y.size, np.int64)
    model._passes.averaged(model._address, model.state.w, table.rows, y, np.zeros(0), np.arange(y.size), guesses)
    return guesses


def learned(model, records, labels):
    """Learn dicts by their addresses; `learn_records` does so for float64 and the last weights only."""
    model.readout, dtype, model.dtype = "last", model.dtype, np.dtype(np.float64)
    if dtype == np.float64:
        guesses = learn_records(model, records, labels, 1e9)
        assert guesses is not None
        return guesses
    model.dtype = dtype
    columns = [np.array([model.features[name] for name in x], np.int64) for x in records]
    values = np.concatenate([np.array(list(x.values()), dtype) for x in records])
    guesses = np.empty(len(labels), np.int64)
    model._passes.records(
        model._address, model.state.w, np.array([c.ctypes.data for c in columns]), np.array([c.size for c in columns]),
        values.ctypes.data, np.array(labels), guesses,
    )  # fmt: skip
    return guesses


def votes():
    for classes, scheme in ((2, "max"), (3, "max"), (3, "ovr")):
        X, y = examples(classes, np.float64)
        model = rb.VotedPerceptron(max_iter=2, multiclass=scheme).fit(X, y)
        yield f"vote {classes} {scheme}", model.decision_function(X)
    X, _ = examples(2, np.float64)
    for dtype in (np.float64, np.float32):
        for index in (np.int32, np.int64):
            rows, columns = sp.csr_array(X[:40].astype(dtype)), sp.csr_array(X[40:].T.astype(dtype))
            parts = [(part.indptr.astype(np.int64), part.indices.astype(index), part.data) for part in (rows, columns)]
            sums = np.zeros((40, 20), dtype)
            entries.sparse_products(*parts[0], *parts[1], sums)
            yield f"products {np.dtype(dtype)} {np.dtype(index)}", sums


def mixing():
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        total, average, lag = rng.standard_normal((3, 700))
        now, base = rng.standard_normal((2, 700)).astype(dtype)
        entries.add_difference(total, 0.3, now, base)
        entries.collect(total, 0.3, now, base, average, 7.0, lag)
        yield f"mixing {np.dtype(dtype)}", total, now, average, lag
    for index in (np.int32, np.int64):
        entries.add_packed(total, rng.integers(0, 700, 50).astype(index), rng.standard_normal(50))
        yield f"packed {np.dtype(index)}", total


# ---- files ----


def write(folder, name, text):
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return path


def read(path, **options):
    stream = open_stream(path, threads=1, **options)
    batches = [
        (b.rows.indptr, b.rows.indices, b.rows.values, b.codes) if hasattr(b.rows, "indptr") else (b.rows, b.codes)
        for b in stream
    ]
    return batches, stream.labels, stream.encoder.names()


def files():
    rng = np.random.default_rng(0)
    words = [f"wörd{number}" for number in range(300)]
    lines = [" ".join(rng.choice(words, 12)) for _ in range(400)]
    colors = rng.choice(["red", "green", "blue"], 400).tolist()
    numbers = np.round(rng.standard_normal((400, 3)) * 10.0 ** rng.integers(-8, 8, (400, 3)), 12)
    labels = rng.integers(0, 40, 400).tolist()
    with tempfile.TemporaryDirectory() as folder:
        csv = "text,color,a,b,c,label\n" + "".join(
            f"{line},{color},{a!r},{b!r},{c!r},{label}\n"
            for line, color, (a, b, c), label in zip(lines, colors, numbers.tolist(), labels, strict=True)
        )
        path = write(folder, "words.csv", csv)
        kinds = {"text": "words", "color": "category", "a": "number", "b": "number", "c": "number"}
        yield "csv", read(path, label="label", types=kinds)
        yield "csv hashed", read(path, label="label", types=kinds, bits=12)
        weighed = {"types": kinds, "label": "label", "ngrams": (1, 2), "char_ngrams": (2, 3), "word_weights": "tfidf"}
        yield "csv weighed", read(path, standardize=True, **weighed)
        yield "csv weighed by all", read(path, standardize=True, ahead=np.inf, **weighed)
        records = [
            {"text": line.split(), "color": color, "a": a, "b": {"c": b, "d": [line, 1.5]}, "label": label}
            for line, color, (a, b, _), label in zip(lines, colors, numbers.tolist(), labels, strict=True)
        ]
        yield (
            "json",
            read(write(folder, "words.jsonl", "".join(json.dumps(one) + "\n" for one in records)), label="label"),
        )
        yield "csv crossed", read(path, label="label", types=kinds, interactions=[("color", "a"), ("color", "text")])
        yield (
            "csv scaled",
            read(
                write(
                    folder,
                    "numbers.csv",
                    "a,b,c,label\n"
                    + "".join(
                        f"{a!r},{b!r},{c!r},{label}\n"
                        for (a, b, c), label in zip(numbers.tolist(), labels, strict=True)
                    ),
                ),
                standardize=True,
            ),
        )
        for name, kind in (("short", pa.string()), ("long", pa.large_string())):
            table = pa.table({"text": pa.array(lines, kind), "color": pa.array(colors, kind), "label": labels})
            pq.write_table(table, Path(folder, f"{name}.parquet"))
            yield (
                f"parquet {name}",
                read(Path(folder, f"{name}.parquet"), label="label", types={"text": "words", "color": "category"}),
            )
        svm = "".join(
            f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) + f" {label + 10}:1e-{label}\n"
            for row, label in zip(numbers.tolist(), labels, strict=True)
        )
        yield "svmlight", read(write(folder, "some.svm", svm))
        vw = "".join(
            f"{label} |{color} {line} |n a:{a!r}\n"
            for label, color, line, (a, _, _) in zip(labels, colors, lines, numbers.tolist(), strict=True)
        )
        yield "vw", read(write(folder, "some.vw", vw))
        vocabulary = Vocabulary(words)
        yield "vocabulary", [vocabulary.find(word) for word in [*words, "none"]], vocabulary.slots
    text = np.frombuffer(b'1,"a\n",2\n3,4,5\n6,"' + bytes(32), np.uint8).copy()
    yield "last record", entries.last_record(text, text.size - 32, ord(","))


# ---- kernels and certificates ----


def kernels():
    for classes in (2, 3):
        X, y = examples(classes, np.float64)
        for kernel in ("poly", "rbf"):
            for readout in ("last", "vote"):
                model = rb.KernelPerceptron(kernel, readout=readout, max_iter=2, block_size=16).fit(X, y)
                yield f"kernel {classes} {kernel} {readout}", model.dual_coef_, model.decision_function(X)
        for policy in ("random", "forgetron", "projectron++"):
            model = rb.KernelPerceptron("rbf", budget=9, budget_policy=policy, max_iter=2).fit(X, y)
            yield f"kernel {classes} {policy}", model.dual_coef_, model.support_
    for dtype in (np.float64, np.float32):
        products, out = np.random.default_rng(1).standard_normal((7, 5)).astype(dtype), np.empty((7, 5))
        entries.power(products, 0.5, 1.0, 3, out)
        yield f"power {np.dtype(dtype)}", out


def certificates():
    for classes in (2, 3):
        for problem in ("stacked", "one-vs-rest") if classes == 3 else ("stacked",):
            X, y = examples(classes, np.float64)
            for name, labels in (("noise", y), ("apart", np.argmax(X[:, :classes] @ np.eye(classes), axis=1))):
                for form, rows in (("dense", X), ("csr", sp.csr_array(X))):
                    found = rb.certify(rows, labels, problem=problem)
                    yield f"certify {classes} {problem} {name} {form}", found.status, found.margin, str(found)


# ---- sequences ----


def sequences():
    rng = np.random.default_rng(5)
    words = [f"w{number}" for number in range(40)]
    sentences = [list(rng.choice(words, rng.integers(1, 9))) for _ in range(60)]
    sentences = [
        [str(word).title() if rng.random() < 0.3 else str(word) for word in sentence] for sentence in sentences
    ]
    tags = [[f"t{int(word[1:]) % 3}" for word in sentence] for sentence in sentences]
    for rule in ("perceptron", "passive-aggressive", "arow"):
        for readout in ("last", "average"):
            model = rb.SequencePerceptron(rule=rule, readout=readout, max_iter=3, random_state=0).fit(sentences, tags)
            trace = model.trace(sentences[0])
            batch, truth = model._encode(model._chain, sentences, tags)
            yield (
                f"sequences {rule} {readout}",
                model.predict(sentences),
                model.transitions_,
                model.start_,
                trace.emissions,
                trace.best,
                model._chain.margins(batch, truth),
            )
    lists = [[[f"word={word}", f"suffix={word[-1]}"] for word in sentence] for sentence in sentences]
    model = rb.SequencePerceptron(templates=None, max_iter=2).fit(lists, tags)
    yield "sequences of lists", model.predict(lists), [model.learn_one(x, y) for x, y in zip(lists, tags, strict=True)]


GROUPS = {kind: (lambda kind=kind: loops(kind)) for kind in KINDS}
GROUPS |= {
    "others": lambda: (case for part in (votes, mixing, files, kernels, certificates, sequences) for case in part())
}


def main():
    warnings.simplefilter("ignore")
    for group in sys.argv[1:] or GROUPS:
        for name, *values in GROUPS[group]():
            print(json.dumps([f"{group}: {name}", digest(*values)]), flush=True)
    print(json.dumps(sorted(CALLED)))


if __name__ == "__main__":
    main()
