"""The perceptron for sequences of tags.

Collins, M. (2002). Discriminative Training Methods for Hidden Markov Models: Theory and Experiments with Perceptron Algorithms.
EMNLP.

    w = 0
    for each sentence x with the tags y:
        z = argmax over all sequences of tags of <w, Φ(x, z)>       (Viterbi's algorithm)
        if z != y:  w = w + Φ(x, y) - Φ(x, z)
    predict with the average of all w

Φ(x, y) counts the pairs of a feature and a tag, and the pairs of neighbouring tags. Mistakes: if some u of length 1 has
<u, Φ(x, y) - Φ(x, z)> ≥ δ for every sentence and every z != y, and no difference is longer than R, at most (R / δ)² sentences are
predicted wrongly (theorem 1).

Departures: there is a transition from the start of a sentence, and none to its end. The step is that of a rule: the
perceptron's; PA-I's, with a loss of the number of wrong tags minus the margin; or AROW's with a diagonal Σ. All of them update on
wrong predictions only. Of sequences with the same score, the one is predicted whose last tag came first in the data, then the tag
before the last, and so on.
"""

from __future__ import annotations

import itertools
import math
import numbers
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.steps import kind_of_step
from rosenblatt.estimators.base import as_before_on_failure
from rosenblatt.estimators.bases import bases
from rosenblatt.estimators.parameters import Declared, choice, parameter, positive, shared, switch, whole
from rosenblatt.sequences.certificate import SequenceCertificate
from rosenblatt.sequences.encoding import Batch, Numbers, check_sentences, checked_tags, feature_name
from rosenblatt.sequences.model import GROWTH, MISTAKES, RADIUS, ROWS, SENTENCES, STEPS, UPDATES, SequenceModel
from rosenblatt.sequences.templates import Templates, parse
from rosenblatt.sequences.trace import SentenceTrace, trace_sentence
from rosenblatt.training.history import History
from rosenblatt.training.loop import run_epochs
from rosenblatt.training.schedule import Schedule, VisitingOrder
from rosenblatt.training.sequences import BlocksOfSentences, SequencePasses

from . import arow, passive_aggressive, perceptron

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
else:
    _, BaseEstimator = bases()

_CHUNK = 50_000
"""Number of tokens that are tagged together, which limits memory."""

_RULES: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[float, ...]]]] = {
    "perceptron": (perceptron.step, lambda estimator: (1.0,)),
    "passive-aggressive": (passive_aggressive.step, lambda estimator: (float(estimator.C), 0.0)),
    "arow": (arow.step, lambda estimator: (float(estimator.r),)),
}


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)


@dataclass(kw_only=True, eq=False, repr=False)
class SequencePerceptron(Declared, BaseEstimator):
    """Tagger of sequences, such as words with parts of speech: the perceptron with Viterbi's algorithm.

    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_tags,)
        The tags, in the order of their first appearance.
    transitions_ : array of shape (n_tags, n_tags)
        Weights of neighbouring tags: row i, column j is that of tag j after tag i.
    start_ : array of shape (n_tags,)
        Weights of the first tag of a sentence.
    n_features_ : int
        Number of features that have weights.
    mistakes_, updates_ : int
        How many sentences were predicted with a wrong tag before they were learned, and how many changed the weights.
    mistakes_per_epoch_ : array of shape (epochs,)
        The same for each epoch of `fit`.
    n_iter_ : int
        Number of epochs of `fit`.
    converged_ : bool
        Whether the last weights of `fit` tag every training sentence correctly, with a margin above 0.
    certificate_ : SequenceCertificate
        The squeeze of the mistake bound with the numbers of this run; not with ``rule="arow"``.

    Examples
    --------
    >>> from rosenblatt import SequencePerceptron
    >>> tagger = SequencePerceptron()
    >>> sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> tags = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]]
    >>> tagger.fit(sentences, tags).predict([["the", "cat", "barks"]])
    [['DET', 'NOUN', 'VERB']]
    >>> tagger.learn_one(["she", "sleeps"], ["PRON", "VERB"])
    ['NOUN', 'VERB']
    """

    rule: str = choice(
        "perceptron",
        list(_RULES),
        "What an update adds: the difference of the features; as much of it as makes the margin the number of wrong tags, at "
        "most `C` times (PA-I); or more for features that were seen rarely.",
    )
    C: float = positive(1.0, "Limit of the steps of passive-aggressive. Smaller values take smaller steps.")
    r: float = positive(1.0, "Regularization of arow. Larger values take smaller steps.")
    readout: str = shared("readout", "average")
    templates: Any = parameter(
        "words",
        "What the features of a token are. \"words\" is a set for words (the word, its neighbours, prefixes, suffixes, shape); "
        "\"words+pos\" is one for tokens of a word and a part of speech. A list holds templates, such as `word[-1]`, "
        "`pos[0]|pos[1]` and `suffix3(word)`. With None a token is a list or a dict of features.",
        choices=("words", "words+pos"), none=True, other=("list of templates", _is_list),
    )  # fmt: skip
    columns: Any = parameter(
        None,
        "Names of the strings of a token, if it is a tuple of several. None takes the columns of the templates in their order: a "
        "word, or a word and a part of speech.",
        none=True, other=("list of names", _is_list),
    )  # fmt: skip
    bits: int | None = whole(
        None,
        "Hash the features to 2^bits numbers, which limits memory: no string is kept, features have no names, and some share "
        "weights. None keeps the strings, so that no two features share a weight.",
        most=28, none=True,
    )  # fmt: skip
    max_iter: int = shared("max_iter", 10)
    tol: float | None = shared("tol", None)
    n_iter_no_change: int = shared("n_iter_no_change")
    shuffle: bool = switch(True, "Visit the sentences in a new random order in each epoch.", fit_only=True)
    random_state: Any = shared("random_state")
    verbose: int = whole(0, "1 prints a line for each epoch. 0 prints nothing.", least=0, fit_only=True)

    # ---- learning ----

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a whole data set, from scratch.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of tokens. A token is a word; with several columns, a tuple of strings; with ``templates=None`` a
            list or a dict of features. A dict is read as CRFsuite's: a string value makes the feature ``name:value`` of value 1.
        y : list of lists of str
            The tags of each sentence.

        Returns
        -------
        SequencePerceptron
            The estimator.
        """
        with as_before_on_failure(self):
            self._check_parameters()
            chain = self._new_chain()
            batch, truth = self._encode(chain, X, y)
            wanted = Schedule.of(self)
            order = VisitingOrder(wanted.shuffle, wanted.seed)
            passes = SequencePasses(chain, batch, truth, order)
            history = self._train(chain, passes, wanted, History(), self._report)
            self._finish(chain, history, passes.smallest_margin)
        return self

    def _report(self, history: History) -> None:
        if self.verbose:
            epoch = history.done[-1]
            print(
                f"epoch {len(history.done)}: {epoch.mistakes} of {epoch.examples} sentences wrong, "
                f"{epoch.mean_loss:.2%} of the tags"
            )

    def _train(
        self,
        chain: SequenceModel,
        passes: SequencePasses | BlocksOfSentences,
        schedule: Schedule,
        history: History,
        on_epoch: Callable[[History], None] | None = None,
    ) -> History:
        if passes.is_empty:
            raise ValueError(
                "X must hold at least one sentence with tokens; got none. Check how the sentences were read or split."
            )
        return run_epochs(passes, schedule, history, on_epoch=on_epoch)

    def _finish(self, chain: SequenceModel, history: History, smallest_margin: Callable[[], float]) -> None:
        """Set the fitted attributes."""
        self._chain = chain
        self.n_iter_ = len(history.epochs)
        self.mistakes_per_epoch_ = np.array([epoch.mistakes for epoch in history.epochs])
        smallest = math.nan if history.stopped == "interrupted" else smallest_margin()
        self.converged_ = smallest > 0.0
        self._smallest_margin = smallest if self.converged_ else 0.0

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn sentences in the given order, starting from the current model. New tags and features may come at any time.

        Parameters
        ----------
        X, y : as for `fit`

        Returns
        -------
        SequencePerceptron
            The estimator.
        """
        with as_before_on_failure(self):
            self._check_parameters()
            chain = self._chain_to_learn()
            batch, truth = self._encode(chain, X, y)
            chain.learn(batch, truth, np.arange(len(batch)))
            self._learned(chain, truth)
        return self

    def _chain_to_learn(self) -> SequenceModel:
        """The model, or a new one; raise an error if parameters on which its weights depend were changed."""
        if not hasattr(self, "_chain"):
            self._check_parameters()
            return self._new_chain()
        self._check_unchanged()
        return self._chain

    def _check_unchanged(self) -> None:
        chain = self._chain
        step, params = self._step_of_rule()
        same = kind_of_step(step) is kind_of_step(chain.step) and params == tuple(chain.params)
        if not (same and self._parsed() == chain.templates and self.bits == chain.vocabulary.bits):
            raise ValueError(
                "`rule`, `C`, `r`, `templates`, `columns` and `bits` must not change after learning has begun; got other values "
                "than those of the model. Set the old ones again, or call `fit`, which begins anew."
            )

    def _learned(self, chain: SequenceModel, truth: Numbers) -> None:
        """Keep the model; what `fit` found out about it is no longer known if it learned a token."""
        self._chain = chain
        if truth.size or not hasattr(self, "converged_"):
            self.converged_, self._smallest_margin = False, 0.0

    def learn_one(self, x: Any, y: Any) -> list[Any] | None:
        """Learn one sentence.

        Parameters
        ----------
        x : list of tokens
            The sentence, as in `fit`.
        y : list of str
            Its tags.

        Returns
        -------
        list or None
            The tags that were predicted before learning; None before any tag is known.
        """
        chain = self._chain_to_learn()
        before = len(chain.tags)
        batch, truth = self._encode(chain, [x], [y])
        rows = chain.rows(batch.keys)
        guesses = chain.tag(batch, rows, True) if self.readout == "average" else None
        last = chain.learn(batch, truth, np.zeros(1, np.int64), rows)
        self._learned(chain, truth)
        return [chain.tags[k] for k in (last if guesses is None else guesses).tolist()] if before else None

    def _parsed(self) -> Templates | None:
        return None if self.templates is None else parse(self.templates, self.columns)

    def _new_chain(self) -> SequenceModel:
        return SequenceModel(*self._step_of_rule(), self._parsed(), self.bits)

    def _step_of_rule(self) -> tuple[Callable[..., Any], tuple[float, ...]]:
        """The step function of the rule, and its numbers."""
        step, params = _RULES[self.rule]
        return step, params(self)

    def _encode(self, chain: SequenceModel, X: Any, y: Any) -> tuple[Batch, Numbers]:
        """The sentences, and the numbers of their tags."""
        tags = checked_tags(X, y, chain.tags)
        return chain.encode(X), chain.codes(tags)

    # ---- predicting ----

    def predict(self, X: Any) -> list[list[Any]]:
        """Predict the tags of sentences.

        Parameters
        ----------
        X : list of sentences
            As in `fit`.

        Returns
        -------
        list of lists
            One tag for each token.
        """
        chain = self._fitted()
        check_sentences(X)
        found: list[list[Any]] = []
        begin = 0
        while begin < len(X):
            end, tokens = begin, 0
            while end < len(X) and (end == begin or tokens < _CHUNK):
                tokens += len(X[end])
                end += 1
            batch, rows = chain.known(X[begin:end])
            guesses = chain.tag(batch, rows, self.readout == "average").tolist()
            tags = list(map(chain.tags.__getitem__, guesses))
            starts = batch.starts.tolist()
            found += [tags[first:last] for first, last in itertools.pairwise(starts)]
            begin = end
        return found

    def predict_one(self, x: Any) -> list[Any] | None:
        """Predict the tags of one sentence; None before any tag is known."""
        chain = getattr(self, "_chain", None)
        if chain is None or not chain.tags:
            return None
        batch, rows = chain.known([x])
        return [chain.tags[k] for k in chain.tag(batch, rows, self.readout == "average").tolist()]

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose tag is predicted correctly."""
        truth = checked_tags(X, y)
        guesses = list(itertools.chain.from_iterable(self.predict(X)))
        if not truth:
            raise ValueError("X must hold at least one token to compute a score; got none. Check how it was read.")
        return sum(map(_same, truth, guesses)) / len(truth)

    # ---- looking inside ----

    def _fitted(self) -> SequenceModel:
        if not hasattr(self, "_chain"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} has not learned anything yet. Call `fit`, `partial_fit` or `learn_one` first."
            )
        return self._chain

    @property
    def classes_(self) -> NDArray[Any]:
        """The tags, in the order of their first appearance."""
        tags = self._fitted().tags
        array = np.array(tags)
        return array if array.tolist() == tags else np.array(tags, dtype=object)

    @property
    def transitions_(self) -> NDArray[np.float64]:
        """Weights of neighbouring tags."""
        return np.asarray(self._fitted().transitions(self.readout == "average")[1:])

    @property
    def start_(self) -> NDArray[np.float64]:
        """Weights of the first tag of a sentence."""
        return np.asarray(self._fitted().transitions(self.readout == "average")[0])

    @property
    def n_features_(self) -> int:
        """Number of features that have weights."""
        chain = self._fitted()
        rows = int(chain.counts[ROWS])
        used = ((chain.w[:rows] != 0.0) | (chain.u[:rows] != 0.0)).any(axis=1)
        used[chain.previous] = False  # transitions; row 0 is none
        return int(used.sum())

    @property
    def mistakes_(self) -> int:
        """How many sentences were predicted with a wrong tag before they were learned."""
        return int(self._fitted().counts[MISTAKES])

    @property
    def updates_(self) -> int:
        """How many sentences changed the weights."""
        return int(self._fitted().counts[UPDATES])

    def state_features(self, tag: Any = None, top: int | None = None) -> list[tuple[str, Any, float]]:
        """The features with their weights, the largest first, and equal ones by name.

        Parameters
        ----------
        tag : str, default=None
            Only the weights of this tag.
        top : int, default=None
            The number of weights to return; None is all that are not 0.

        Returns
        -------
        list of tuple
            Name of the feature, tag and weight.
        """
        chain = self._fitted()
        weights = chain.weights(self.readout == "average")
        names = chain.names()
        weights[[name is None for name in names]] = 0.0
        if tag is not None:
            other = np.arange(weights.shape[1]) != self._number_of(tag)
            weights[:, other] = 0.0
        rows, tags = np.nonzero(weights)
        rank = np.argsort(sorted(range(len(names)), key=lambda row: names[row] or ""))
        order = np.lexsort((tags, rank[rows], -np.abs(weights[rows, tags])))[:top]
        return [
            (str(names[row]), chain.tags[column], float(weights[row, column]))
            for row, column in zip(rows[order].tolist(), tags[order].tolist(), strict=True)
        ]

    def _number_of(self, tag: Any) -> int:
        chain = self._fitted()
        if tag not in chain.number:
            raise ValueError(
                f"The tag must be one of {', '.join(map(str, chain.tags[:20]))}; got {tag!r}. See `classes_`."
            )
        return chain.number[tag]

    def explain(self, x: Any, position: int, tag: Any = None) -> list[tuple[str, float]]:
        """Say which features speak for a tag of one token.

        Parameters
        ----------
        x : list of tokens
            The sentence.
        position : int
            The number of the token, from 0.
        tag : str, default=None
            The tag; None is the one that is predicted.

        Returns
        -------
        list of tuple
            The names of the token's features, and of the transitions from and to its predicted neighbours, each with what it adds
            to the score of the tag, the largest first. Features without weights are left out.
        """
        if not isinstance(position, numbers.Integral) or not 0 <= position < len(x):
            raise ValueError(
                f"`position` must be the number of a token, from 0 to {len(x) - 1}; got {position!r}. Count from 0."
            )
        return self._explained(x, [int(position)], None if tag is None else self._number_of(tag))[0]

    def _explained(self, x: Any, positions: Iterable[int], number: int | None = None) -> list[list[tuple[str, float]]]:
        """What speaks for the tag of this number, or for the predicted one, at each of these positions."""
        chain = self._fitted()
        average = self.readout == "average"
        batch, rows = chain.known([x])
        guesses = chain.tag(batch, rows, average).tolist()
        scale = float(chain.counts[SENTENCES]) if average else 0.0
        transitions = chain.transitions(average)
        explained = []
        for position in positions:
            tag = guesses[position] if number is None else number
            found: dict[str, float] = {}
            for place in range(int(batch.feature_start[position]), int(batch.feature_start[position + 1])):
                feature = int(batch.feature[place])
                row = int(rows[feature]) if rows.size else feature
                if row:
                    weight = chain.w[row, tag] - (chain.u[row, tag] / scale if scale else 0.0)
                    name = feature_name(tuple(chain.table.keys[row].tolist()), chain.vocabulary, chain.templates)
                    value = batch.value[place] if batch.value.size else 1.0
                    found[name] = found.get(name, 0.0) + float(value * weight)
            before = guesses[position - 1] if position else -1
            name = f"after {chain.tags[before]}" if position else "first token"
            found[name] = float(transitions[before + 1, tag])
            if position + 1 < len(guesses):
                after = guesses[position + 1]
                found[f"before {chain.tags[after]}"] = float(transitions[tag + 1, after])
            explained.append(sorted(found.items(), key=lambda item: -abs(item[1])))
        return explained

    def trace(self, x: Any, y: Any = None) -> SentenceTrace:
        """Show how one sentence is tagged, and what the perceptron would learn from it. The model does not change.

        Parameters
        ----------
        x : list of tokens
            The sentence.
        y : list of str, default=None
            Its true tags.

        Returns
        -------
        SentenceTrace
            The table of Viterbi's algorithm, with `to_text` and `to_markdown`.
        """
        if y is not None:
            checked_tags([x], [y])
        return trace_sentence(self._fitted(), x, y, self.readout == "average")

    @property
    def certificate_(self) -> SequenceCertificate:
        """The squeeze of the mistake bound with the numbers of this run."""
        chain = self._fitted()
        if self.rule == "arow":
            raise AttributeError(
                "A SequencePerceptron with rule='arow' has no certificate: its steps are scaled by variances."
            )
        squares = np.square(chain.w[chain.w != 0.0])
        length = math.sqrt(math.fsum(squares.tolist()))  # the same in any order of the rows
        radius, margin = float(chain.sums[RADIUS]) ** 0.5, self._smallest_margin / length if length else 0.0
        bound = None
        if self.converged_ and self.rule == "perceptron" and margin > 0.0:
            bound = (radius / margin) ** 2
        return SequenceCertificate(
            "separable" if self.converged_ else "undecided", int(chain.counts[MISTAKES]), radius, margin,
            float(chain.sums[STEPS]), float(chain.sums[GROWTH]), length, bound,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `rosenblatt.load` reads.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced only when the new one is complete and on disk.
        """
        from rosenblatt.model_file import save

        if hasattr(self, "_chain"):
            self._check_unchanged()
        save(self, path)


def _same(truth: Any, guess: Any) -> bool:
    return bool(truth == guess)
