"""Random sentences, and the comparison of two taggers."""

import numpy as np

TAGS = ["A", "B", "C"]


def sentences(seed, count=30, longest=5, names=8):
    """Random sentences of tokens with named features of small whole values, and tags."""
    rng = np.random.RandomState(seed)
    X, y = [], []
    for _ in range(count):
        size = rng.randint(1, longest + 1)
        tokens = [
            {f"f{name}": float(rng.randint(1, 4)) for name in rng.choice(names, rng.randint(1, 4), replace=False)}
            for _ in range(size)
        ]
        X.append(tokens)
        y.append(
            [
                TAGS[(len(token) + min(token).count("1")) % 3] if rng.rand() < 0.8 else TAGS[rng.randint(3)]
                for token in tokens
            ]
        )
    return X, y


def assert_same_bits(a, b):
    assert a.classes_.tolist() == b.classes_.tolist()
    for readout in ("last", "average"):
        one, other = (dict(rows(model.set_params(readout=readout))) for model in (a, b))
        assert one.keys() == other.keys()
        assert all((one[name] == other[name]).all() for name in one)
        assert (a.transitions_ == b.transitions_).all()
        assert (a.start_ == b.start_).all()


def rows(model):
    chain = model._chain
    return [
        (name, row) for name, row in zip(chain.names(), chain.weights(model.readout == "average"), strict=True) if name
    ]
