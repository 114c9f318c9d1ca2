"""One pass of the perceptron over a file; ``python -m benchmarks.one_pass FILE`` prints the peak memory.

Imports only the modules that are needed for this.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data import open_stream
from rosenblatt.model.linear import Model
from rosenblatt.model.rule import Rule

from .peak_memory import peak


def step(margin: float, eta0: float) -> float:
    return eta0 if margin <= 0 else 0.0


def learn(path: Path, **options: Any) -> Model:
    """One pass of the perceptron over a file."""
    model = Model(Rule(step, (1.0,), target=0.0), n_features=0)
    stream = open_stream(path, **options)
    for batch in stream:
        model.add_class(*stream.labels[len(model.classes) :])
        model.add_features(stream.encoder.n_features)
        model.run(batch.table(model.n_features), batch.codes, batch.weights, np.arange(batch.size))
    return model


if __name__ == "__main__":
    learn(Path(sys.argv[1]))
    print(peak())
