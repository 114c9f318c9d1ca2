"""Train, evaluate and inspect taggers, which the commands of these names call."""

import contextlib
import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from rosenblatt.cli._errors import INTERRUPTED, Failure, Usage, warn

NAMES = {
    "perceptron": {"readout": "last"},
    "averaged-perceptron": {},
    "passive-aggressive": {"rule": "passive-aggressive"},
    "arow": {"rule": "arow"},
}  # fmt: skip
"""Algorithms of taggers, and the parameters that they set."""

EPOCHS = 10

MOST = 1_000_000
"""Number of tokens that are in memory together."""

_OPTIONS = {
    "data", "model", "algorithm", "epochs", "settings", "format", "seed", "shuffle", "test", "resume", "json", "quiet",
    "dask", "shards", "mixing", "bits", "label",
}  # fmt: skip
"""Options of `rosenblatt train` that have a meaning for sentences."""


def is_tagger(estimator: Any) -> bool:
    """Whether a model tags sentences."""
    from rosenblatt.learners import OF_SEQUENCES

    return type(estimator).__name__ in OF_SEQUENCES


def load_tagger(path: str) -> Any:
    """Load a model that tags sentences."""
    from rosenblatt.learners._load import load

    estimator = load(path)
    if not is_tagger(estimator):
        raise Usage(
            f"{path} must be a tagger, made by `rosenblatt train --format conll`; it is a {type(estimator).__name__}. Use "
            "`rosenblatt predict` for its examples."
        )
    return estimator


def read_blocks(
    paths: Sequence[str], label: str | None, many: Sequence[int] = ()
) -> Iterator[tuple[list[Any], list[list[str]]]]:
    """Tokens and tags of files in blocks of about `MOST` tokens."""
    from rosenblatt.data.conll import read_conll

    block: list[Any] = []
    tokens = 0
    for sentence in read_conll(paths, many, label):
        block.append(sentence)
        tokens += len(sentence.tokens)
        if tokens >= MOST:
            yield split_labels(block, paths)
            block, tokens = [], 0
    if block:
        yield split_labels(block, paths)


def split_labels(sentences: Sequence[Any], paths: Sequence[str]) -> tuple[list[Any], list[list[str]]]:
    """Tokens without the last column, which is the tag, and the tags."""
    if not sentences:
        raise Usage(f"{', '.join(paths)}: there is no sentence in it. Check the file and --format.")
    many = len(sentences[0].tokens[0])
    if many < 2:
        raise Usage(
            f"{', '.join(paths)}: a line must have at least two columns, a word and its tag; got one. Add the tags."
        )
    if many == 2:
        return [[token[0] for token in s.tokens] for s in sentences], [
            [token[1] for token in s.tokens] for s in sentences
        ]
    return [[token[:-1] for token in s.tokens] for s in sentences], [
        [token[-1] for token in s.tokens] for s in sentences
    ]


def _parameters(settings: dict[str, Any], algorithm: str | None, columns: int, bits: int | None) -> dict[str, Any]:
    """The parameters of a new tagger."""
    name = (algorithm or "averaged-perceptron").lower()
    matches = [known for known in NAMES if known.startswith(name)] if name not in NAMES else [name]
    if len(matches) != 1:
        raise Usage(
            f"--algorithm of a tagger must be one of {', '.join(NAMES)}; got {algorithm!r}. Check the spelling."
        )
    made: dict[str, Any] = dict(NAMES[matches[0]])
    for name, value in settings.items():
        made[name] = value.split(",") if name == "columns" and isinstance(value, str) else value
        if name == "templates" and isinstance(value, str) and value not in ("words", "words+pos"):
            made[name] = value.split(",")
    made.setdefault("templates", "words" if columns == 1 else "words+pos")
    if made["templates"] is None:
        raise Usage(
            "--set templates must be words, words+pos, or templates with commas between them; got None. Leave it out."
        )
    if columns > 1:
        made.setdefault("columns", ["word", "pos", *(f"column{k}" for k in range(2, columns))])
    elif made["templates"] != "words":
        made.setdefault("columns", ["word"])  # otherwise a misspelled name would be that of the column
    if bits is not None:
        made["bits"] = bits
    return made


class Training:
    """A run of `rosenblatt train --format conll`.

    Parameters
    ----------
    data : sequence of str
        The files.
    whole : bool, default=True
        Whether to read them here; on a cluster the workers do it.
    label : str, default=None
        The column of the tag.

    Attributes
    ----------
    in_blocks : bool
        Whether there are more sentences than `X` and `y` hold; they are read again for each epoch.
    """

    def __init__(self, data: Sequence[str], whole: bool = True, label: str | None = None) -> None:
        from rosenblatt.data.conll import read_sentences
        from rosenblatt.data.sources import expand

        self.data, self.label, self.in_blocks = expand(data), label, False
        if whole:
            blocks = read_blocks(self.data, label)
            self.X, self.y = next(blocks, None) or split_labels([], self.data)
            for X, y in blocks:
                if "-" not in self.data:
                    self.in_blocks = True
                    break
                self.X, self.y = self.X + X, self.y + y
            self.sentences, self.tokens = len(self.X), sum(map(len, self.X))
        else:
            if label is not None:
                raise Usage("--label of sentences is for training on one computer; got it with --dask. Leave it out.")
            if "-" in self.data:
                raise Usage("--dask needs files that every worker can open; got standard input. Save it first.")
            first = next((sentence for name in self.data for sentence in read_sentences(name)), None)
            self.X, self.y = split_labels([] if first is None else [first], self.data)
        self.columns = 1 if isinstance(self.X[0][0], str) else len(self.X[0][0])

    def run_on(
        self, address: str, shards: int | None, mixing: str | None, model: str, estimator: Any, epochs: int | None,
        seed: int | None, shuffle: bool, resume: bool, quiet: bool, on_epoch: Callable[[Any], None],
    ) -> Any:  # fmt: skip
        """Train on a Dask cluster; the model is written after each epoch."""
        from rosenblatt.cli._examples import Interrupt
        from rosenblatt.dask import ClusterError
        from rosenblatt.dask import train as train_on_cluster
        from rosenblatt.training.history import History

        before = (getattr(estimator, "training_", None) or {}).get("shards")
        if resume:
            if before is None:
                raise Usage(
                    "--resume with --dask continues a run on a cluster with the same data; this model comes from another run. "
                    "Leave --resume out to train a new model."
                )
            shards = before["asked"] if shards is None else shards
            mixing = before["mixing"] if mixing is None else mixing
        mixing = mixing or "uniform"
        if not resume:
            estimator.training_ = {"data": self._fingerprint()}
        with Interrupt() as interrupt:
            try:
                train_on_cluster(
                    estimator, self.data, client=address, shards=shards, mixing=mixing, checkpoint=model, resume=resume,
                    schedule=self._schedule(estimator, epochs, seed, shuffle), progress=not quiet, on_epoch=on_epoch,
                    asked_to_stop=lambda: interrupt.asked,
                )  # fmt: skip
            except ClusterError as error:
                raise Failure(str(error)) from error
        marks = estimator.training_["shards"]
        self.sentences, self.tokens = sum(marks["sentences"]), sum(marks["tokens"])
        self.cluster = {
            "address": address,
            "shards": len(marks["sentences"]),
            "mixing": mixing,
            "weighted_mistakes": estimator.weighted_mistakes_,
            "bytes_moved": sum(epoch["bytes_moved"] for epoch in estimator.history_),
        }
        return History.from_json(estimator.training_["run"])

    def _schedule(self, estimator: Any, epochs: int | None, seed: int | None, shuffle: bool) -> Any:
        from rosenblatt.training.schedule import Schedule

        changes: dict[str, Any] = {"max_iter": epochs or EPOCHS}
        if seed is not None:
            changes["seed"] = seed
        if not shuffle:
            changes["shuffle"] = False
        return Schedule.of(estimator, **changes)

    def _fingerprint(self) -> list[list[Any]]:
        return [[name, os.stat(name).st_size if Path(name).exists() else -1] for name in self.data]  # noqa: PTH116

    def run(
        self, estimator: Any, epochs: int | None, seed: int | None, shuffle: bool, resume: bool,
        on_epoch: Callable[[Any], None],
    ) -> Any:  # fmt: skip
        """Train a new tagger, or one that was loaded; return the history."""
        from rosenblatt.cli._examples import Interrupt
        from rosenblatt.training.history import History
        from rosenblatt.training.schedule import Schedule, StopRule, VisitingOrder, stopping_when
        from rosenblatt.training.sequences import BlocksOfSentences, SequencePasses

        training = getattr(estimator, "training_", None) or {}
        same = resume and training.get("data") == self._fingerprint()
        if same:
            saved = Schedule.from_json(training["run"])
            schedule, history = (
                dataclasses.replace(saved, max_iter=epochs or saved.max_iter),
                History.from_json(training["run"]),
            )
            if reason := StopRule(schedule, history).reason(history):
                raise Usage(
                    f"The model has been trained on this data for {len(history.done)} epochs and finished ({reason}); got "
                    f"--epochs {schedule.max_iter}. {'Raise it, or give' if reason == 'epochs' else 'Give'} new data."
                )
        else:
            schedule, history = self._schedule(estimator, epochs, seed, shuffle), History()
        chain = estimator._chain if resume else estimator._new_chain()
        order = VisitingOrder(schedule.shuffle, schedule.seed)
        passes: SequencePasses | BlocksOfSentences
        if self.in_blocks:
            self.X, self.y = [], []
            passes = BlocksOfSentences(
                chain,
                lambda: (estimator._encode(chain, X, y) for X, y in read_blocks(self.data, self.label)),
                order,
            )
        else:
            batch, truth = estimator._encode(chain, self.X, self.y)
            passes = SequencePasses(chain, batch, truth, order)
        with Interrupt() as interrupt, stopping_when(lambda: interrupt.asked):
            estimator._train(chain, passes, schedule, history, on_epoch)
        estimator._finish(chain, history, passes.smallest_margin)
        estimator.training_ = {"data": self._fingerprint(), "run": {**schedule.to_json(), **history.to_json()}}
        if self.label is not None:
            estimator.training_["label"] = self.label
        if self.in_blocks:
            epoch = (history.done or [history.current])[-1]
            self.sentences, self.tokens = epoch.examples, round(epoch.weight)
        return history


def train(
    context: click.Context, data: Sequence[str], model: str, algorithm: str | None, epochs: int | None,
    settings: dict[str, Any], label: str | None, bits: int | None, seed: int, shuffle: bool, test: str | None, resume: bool,
    json: bool, quiet: bool, cluster: tuple[str | None, int | None, str | None],
) -> None:  # fmt: skip
    """Train a tagger on files in columns, with `cluster` (address, shards and mixing) on that."""
    from rosenblatt.cli._files import emit, save_model
    from rosenblatt.cli._session import new_tagger
    from rosenblatt.data.sources import expand

    refuse(context, _OPTIONS)
    given = {name: context.get_parameter_source(name) for name in ("seed", "shuffle")}
    asked = [name for name, source in given.items() if source is not None and source.name == "COMMANDLINE"]
    estimator = None
    if resume:
        estimator = load_tagger(model)
        given_options = {"--set": settings, "--algorithm": algorithm, "--label": label, "--bits": bits}
        if wrong := [*(name for name, value in given_options.items() if value), *(f"--{name}" for name in asked)]:
            raise Usage(f"{wrong[0]} is part of the model and cannot be given with --resume. Leave it out.")
        label = label_of(estimator)
    run = Training(data, whole=cluster[0] is None, label=label)
    if estimator is None:
        estimator = new_tagger({"random_state": seed, **_parameters(settings, algorithm, run.columns, bits)})
    if test is not None:
        expand(test)
    printed = False

    def line(history: Any) -> None:
        nonlocal printed
        if not quiet:
            epoch = history.done[-1]
            if not printed:
                click.echo(f"{'epoch':>6}{'sentences':>14}{'mistakes':>12}{'wrong tags':>12}{'seconds':>9}", err=True)
                printed = True
            numbers = f"{len(history.done):>6}{epoch.examples:>14,}{epoch.mistakes:>12,}{epoch.mean_loss:>12.2%}"
            click.echo(f"{numbers}{epoch.seconds:>9.2f}", err=True)

    started = time.monotonic()
    given_seed = None if resume else seed
    if cluster[0] is None:
        history = run.run(estimator, epochs, given_seed, shuffle, resume, line)
    else:
        history = run.run_on(
            cluster[0], *cluster[1:], model, estimator, epochs, given_seed, shuffle, resume, quiet or json, line
        )
    seconds = time.monotonic() - started
    save_model(estimator, model)
    facts: dict[str, Any] = {
        "model": model, "algorithm": type(estimator).__name__, "rule": estimator.rule, "data": run.data,
        "examples": run.sentences, "tokens": run.tokens, "classes": [str(tag) for tag in estimator.classes_.tolist()],
        "features": estimator.n_features_, "epochs": [dataclasses.asdict(epoch) for epoch in history.done],
        "stopped": history.stopped, "seconds": seconds,
    }  # fmt: skip
    if cluster[0] is not None:
        facts["cluster"] = run.cluster
    report = None
    if test is not None and history.stopped != "interrupted":
        report = report_on(estimator, [test])
        facts["test"] = {"data": test, **report.to_json()}
    if json:
        emit(facts)
    elif not quiet:
        click.echo(
            f"algorithm  {facts['algorithm']}, rule {estimator.rule}\n"
            f"sentences  {facts['examples']:,}, {facts['tokens']:,} tokens\n"
            f"tags       {len(facts['classes'])}\nfeatures   {facts['features']:,}\n"
            f"epochs     {len(history.done)} in {seconds:.2f} s, ended by: {history.stopped}\nmodel      {model}"
        )
        if report is not None:
            click.echo(f"\nTest on {test}\n{report.to_text()}")
    if history.stopped == "interrupted":
        warn(f"interrupted; {model} holds the model learned so far. Continue with --resume.")
        raise click.exceptions.Exit(INTERRUPTED)


_OF_STREAM = {"data", "model", "algorithm", "settings", "output", "label", "format", "bits", "json", "quiet"}
"""Options of `rosenblatt stream` that have a meaning for sentences."""


def stream(
    context: click.Context, data: Sequence[str], model: str | None, algorithm: str | None, settings: dict[str, Any],
    label: str | None, bits: int | None, output: str | None, json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Tag each sentence, then learn it."""
    from rosenblatt.cli._examples import Interrupt
    from rosenblatt.cli._files import emit, save_model
    from rosenblatt.cli._files import output as opened
    from rosenblatt.cli._session import new_tagger
    from rosenblatt.data.conll import read_conll

    refuse(context, _OF_STREAM)
    estimator: Any = None
    many: tuple[int, ...] = ()
    if model is not None and Path(model).exists():
        estimator = load_tagger(model)
        given = {"--set": settings, "--algorithm": algorithm, "--label": label, "--bits": bits}
        if wrong := [name for name, value in given.items() if value]:
            raise Usage(
                f"{wrong[0]} is part of the model and cannot be changed later. Leave it out, or choose a new file."
            )
        many, label = (columns_of(estimator) + 1,), label_of(estimator)
    count = Tally()
    lines = not (json or quiet)
    if lines:
        click.echo(f"{'sentences':>12}{'tokens':>12}{'wrong tags':>12}{'accuracy':>10}{'since last':>12}")
    with contextlib.ExitStack() as stack:
        file = None if output is None else stack.enter_context(opened(output))
        interrupt = stack.enter_context(Interrupt())
        for sentence in interrupt.before_end(read_conll(data, many, label)):
            (x,), (y,) = split_labels([sentence], data)
            if estimator is None:
                columns = 1 if isinstance(x[0], str) else len(x[0])
                estimator = new_tagger(_parameters(settings, algorithm, columns, bits))
            guess = estimator.learn_one(x, y) or [None] * len(y)
            if file is not None:
                file.write("".join(tagged([x], [["" if tag is None else tag for tag in guess]])))
            if count.add(y, guess) and lines:
                click.echo(count.line())
    if estimator is None:
        raise Usage(f"{', '.join(data)}: there is no sentence in it. Check the file and --format.")
    if count.finish() and lines:
        click.echo(count.line())
    if model is not None:
        if label is not None:
            estimator.training_ = {"label": label}
        save_model(estimator, model)
    if json:
        emit({"algorithm": type(estimator).__name__, "rule": estimator.rule, **count.to_json(),
              "classes": [str(tag) for tag in estimator.classes_.tolist()], "features": estimator.n_features_})  # fmt: skip
    if interrupt.asked:
        warn("interrupted" + (f"; {model} holds the model learned so far." if model is not None else "."))
        raise click.exceptions.Exit(INTERRUPTED)


class Tally:
    """Numbers of sentences and tags that were predicted before they were learned, and their course at doubling counts."""

    def __init__(self) -> None:
        self.sentences = self.tokens = self.wrong = self.whole = 0
        self.curve = [(0, 0, 0)]

    def add(self, truth: Sequence[Any], guess: Sequence[Any]) -> bool:
        """Count a sentence; return whether a line of the table is due."""
        wrong = sum(a != b for a, b in zip(truth, guess, strict=True))
        self.sentences, self.tokens = self.sentences + 1, self.tokens + len(truth)
        self.wrong, self.whole = self.wrong + wrong, self.whole + (wrong == 0)
        return self.sentences & (self.sentences - 1) == 0 and self._mark()

    def finish(self) -> bool:
        """Mark the end; return whether a line of the table is due."""
        return self.sentences > self.curve[-1][0] and self._mark()

    def _mark(self) -> bool:
        self.curve.append((self.sentences, self.tokens, self.wrong))
        return True

    def line(self) -> str:
        """The line of the table for what was marked last."""
        (_, tokens, wrong), (sentences, *now) = self.curve[-2:]
        shares = f"{1 - now[1] / now[0]:>10.2%}{1 - (now[1] - wrong) / (now[0] - tokens):>12.2%}"
        return f"{sentences:>12,}{now[0]:>12,}{now[1]:>12,}{shares}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        names = ("sentences", "tokens", "mistakes")
        return {
            "accuracy": 1 - self.wrong / self.tokens, "mistakes": self.wrong, "tokens": self.tokens, "sentences": self.sentences,
            "whole_sentences": self.whole, "curve": [dict(zip(names, point, strict=True)) for point in self.curve[1:]],
        }  # fmt: skip


_OF_TRACE = {"data", "algorithm", "epochs", "limit", "to", "output", "settings", "label", "format"}
"""Options of `rosenblatt trace` that have a meaning for sentences."""


def trace(
    context: click.Context, data: Sequence[str], algorithm: str | None, epochs: int, settings: dict[str, Any],
    label: str | None, limit: int, to: str, output: str | None,
) -> None:  # fmt: skip
    """Show the table of Viterbi's algorithm and the update of each sentence, and learn it."""
    from rosenblatt.cli._files import output as opened
    from rosenblatt.cli._session import new_tagger

    refuse(context, _OF_TRACE)
    if to not in ("text", "markdown"):
        raise Usage(f"--to of sentences must be text or markdown; got {to}. Choose one of these.")
    run = Training(data, label=label)
    estimator = new_tagger(_parameters(settings, algorithm or "perceptron", run.columns, None))
    with opened(output) as file:
        for number, (x, y) in enumerate(itertools.islice(itertools.cycle(zip(run.X, run.y, strict=True)), limit)):
            epoch, place = divmod(number, len(run.X))
            if epoch == epochs:
                break
            title = f"Sentence {place + 1}" + (f", epoch {epoch + 1}" if epochs > 1 else "")
            table = ["Not predicted: no tag is known yet."]
            if number:
                known = estimator.trace(x, y)
                table = [known.to_text() if to == "text" else known.to_markdown()]
            file.write("\n".join([("## " if to == "markdown" else "") + title, "", *table, "", ""]))
            estimator.learn_one(x, y)


def refuse(context: click.Context, known: set[str]) -> None:
    """Raise an error if an option was given that has no meaning for sentences."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in known and source is not None and source.name == "COMMANDLINE":
            option = next(p.opts[0] for p in context.command.params if p.name == name)
            raise Usage(f"{option} is not for sentences in columns (--format conll); got it with them. Leave it out.")


def report_on(estimator: Any, data: Sequence[str]) -> Any:
    """Compare the predictions of a tagger with the tags of files."""
    from rosenblatt.data.conll import read_conll
    from rosenblatt.sequences.chunks import compare

    X, y = split_labels(list(read_conll(data, (columns_of(estimator) + 1,), label_of(estimator))), data)
    return compare(y, [[str(tag) for tag in tags] for tags in estimator.predict(X)])


def label_of(estimator: Any) -> str | None:
    """The column of the tag in the data that a tagger was trained on; None if it is the usual one."""
    label: str | None = (getattr(estimator, "training_", None) or {}).get("label")
    return label


def columns_of(estimator: Any) -> int:
    """The number of columns of a token."""
    templates = estimator._chain.templates
    if templates is None:
        raise Usage(
            "The tagger must have templates; this one was trained in Python on features of its own. Use it in Python."
        )
    return len(templates.columns)


def tagged(sentences: list[list[Any]], tags: list[list[Any]]) -> Iterator[str]:
    """Sentences in columns with their tags in the last one."""
    for tokens, found in zip(sentences, tags, strict=True):
        for token, one in zip(tokens, found, strict=True):
            yield f"{token if isinstance(token, str) else chr(9).join(token)}\t{one}\n"
        yield "\n"


def inspect(estimator: Any, path: str, top: int, json: bool) -> None:
    """Show the strongest features and transitions of each tag."""
    from rosenblatt.cli._files import emit
    from rosenblatt.model_file import read

    tags = estimator.classes_.tolist()
    defaults = type(estimator)().get_params()
    changed = {name: value for name, value in estimator.get_params().items() if value != defaults[name]}
    strongest: dict[str, list[list[Any]]] = {str(tag): [] for tag in tags}
    for name, tag, weight in estimator.state_features():
        if weight > 0 and len(strongest[str(tag)]) < top:
            strongest[str(tag)].append([name, weight])
    transitions = {
        str(before): {str(tag): float(weight) for tag, weight in zip(tags, row, strict=True)}
        for before, row in zip(tags, estimator.transitions_, strict=True)
    }
    facts = {
        "algorithm": type(estimator).__name__, "parameters": changed, "classes": [str(tag) for tag in tags],
        "features": estimator.n_features_, "mistakes": estimator.mistakes_, "updates": estimator.updates_,
        "written by": f"rosenblatt {read(path).library}", "strongest": strongest, "transitions": transitions,
    }  # fmt: skip
    if json:
        emit(facts)
        return
    shown = ", ".join(f"{name}={value}" for name, value in changed.items()) or "defaults"
    click.echo(f"algorithm   {facts['algorithm']}\nparameters  {shown}\nfeatures    {facts['features']:,}")
    click.echo(
        f"mistakes    {facts['mistakes']:,}\nupdates     {facts['updates']:,}\nclasses     {', '.join(map(str, tags))}"
    )
    for tag, features in strongest.items():
        click.echo(f"\nfor {tag}")
        for name, weight in features:
            click.echo(f"  {weight:>+12.5g}  {name}")
        after = sorted(((row[tag], before) for before, row in transitions.items()), key=lambda pair: -pair[0])
        for weight, before in [pair for pair in after if pair[0] > 0][: min(top, 3)]:
            click.echo(f"  {weight:>+12.5g}  after {before}")
