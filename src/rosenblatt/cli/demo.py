"""`rosenblatt demo`: a tour on real data that ships with the package."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["demo"]


def demo(
    words: int = typer.Option(8, min=1, max=100, help="How many words to show for each class."),
    epochs: int = typer.Option(10, min=1, max=1000, help="How often to go through the mails."),
) -> None:
    """Train a spam filter on 2,000 real mails and show what it learned.

    For example:
      rosenblatt demo --words 5
    """
    from rosenblatt._bases import with_sklearn

    with_sklearn()  # it fits estimators
    from rich.console import Console

    console = Console(highlight=False)
    with console.status("Reading 2,000 mails and counting their words (the first run also compiles the kernels) …"):
        from rosenblatt import AveragedPerceptron, Perceptron

        X_train, X_test, y_train, y_test, vocabulary = _mails()
        last = Perceptron(max_iter=epochs, tol=None, random_state=0).fit(X_train, y_train)
        mean = AveragedPerceptron(max_iter=epochs, tol=None, random_state=0).fit(X_train, y_train)
    console.rule("[bold]A spam filter, learned by the perceptron")
    console.print(
        f"{X_train.shape[0]:,} mails to learn from, {X_test.shape[0]:,} to test on, {X_train.shape[1]:,} different words."
    )
    _show_epochs(console, last)
    _show_certificate(console, last, X_train, y_train)
    console.print(
        f"\nTest accuracy: [bold]{mean.score(X_test, y_test):.1%}[/] with the average of all weights (AveragedPerceptron), "
        f"{last.score(X_test, y_test):.1%} with the last ones (Perceptron); "
        f"always guessing the more frequent class gives {_majority(y_test):.1%}."
    )
    _show_words(console, mean, vocabulary, words)
    _show_stream(console, X_test, y_test, vocabulary)
    _show_trace(console)
    _show_exclusive_or(console)


def _mails() -> tuple[Any, ...]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import train_test_split

    from rosenblatt.datasets import load_spam

    texts, labels = load_spam()
    vectorizer = CountVectorizer(binary=True, dtype=float)
    X = vectorizer.fit_transform(texts)
    split = train_test_split(X, labels, test_size=0.25, random_state=0, stratify=labels)
    return (*split, vectorizer.get_feature_names_out())


def _majority(labels: list[str]) -> float:
    return max(labels.count(label) for label in set(labels)) / len(labels)


def _show_epochs(console: "Console", model: Any) -> None:
    from rich.table import Table

    table = Table(title="Mistakes while learning, epoch by epoch", title_justify="left", box=None)
    table.add_column("epoch", justify="right")
    table.add_column("mistakes", justify="right")
    table.add_column("")
    most = max(1, int(model.mistakes_per_epoch_.max()))
    for number, mistakes in enumerate(model.mistakes_per_epoch_.tolist(), start=1):
        table.add_row(str(number), str(mistakes), "[red]" + "█" * round(50 * mistakes / most))
    console.print(table)
    if model.converged_:
        console.print("A pass without a mistake: the training mails are linearly separable, and this is a separator.")
    else:
        console.print(f"{model.mistakes_} mistakes in {model.n_iter_} epochs; the last weights still make some.")


def _show_certificate(console: "Console", model: Any, X: Any, y: list[str]) -> None:
    from rosenblatt import certify

    certificate = certify(X, y)
    console.print("\nWhat can be proved about these mails (rosenblatt.certify)")
    console.print(f"  {str(certificate).replace(chr(10), chr(10) + '  ')}", markup=False)
    console.print(
        f"  checked in exact arithmetic: {certificate.verify()}; the perceptron made {model.mistakes_} mistakes on its way."
    )


def _show_trace(console: "Console") -> None:
    from rosenblatt import trace

    console.print("\nFive points, one pass, every step on the blackboard (rosenblatt.trace)")
    X, y = [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1]
    run = trace(X, y, init=[-1, 0, 0], on_zero="positive")
    console.print(run.to_text(), markup=False, soft_wrap=True)


def _show_exclusive_or(console: "Console") -> None:
    from rosenblatt import KernelPerceptron, certify

    X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], ["even", "odd", "odd", "even"]
    kernel = KernelPerceptron(kernel="poly", degree=2).fit(X, y)
    console.print(
        f"\nExclusive or: {certify(X, y).status} by a hyperplane; a kernel perceptron of degree 2 gets "
        f"{kernel.score(X, y):.0%} of the four points right after {kernel.mistakes_} mistakes."
    )


def _show_words(console: "Console", model: Any, vocabulary: Any, count: int) -> None:
    from rich.table import Table

    order = model.coef_[0].argsort()
    negative, positive = model.classes_
    table = Table(title="\nThe words that speak loudest", title_justify="left", box=None)
    for label in (positive, "", negative, ""):
        table.add_column(f"for {label}" if label else "weight", justify="left" if label else "right")
    for for_positive, for_negative in zip(order[::-1][:count], order[:count], strict=True):
        table.add_row(
            f"[red]{vocabulary[for_positive]}", f"{model.coef_[0, for_positive]:+.2f}",
            f"[green]{vocabulary[for_negative]}", f"{model.coef_[0, for_negative]:+.2f}",
        )  # fmt: skip
    console.print(table)


def _show_stream(console: "Console", X: Any, y: list[str], vocabulary: Any) -> None:
    from rosenblatt import PassiveAggressive

    console.print("\nThe online protocol: see a mail, predict, then learn the truth (PassiveAggressive, from nothing)")
    model, wrong, upcoming = PassiveAggressive(), 0, 1
    for number, label in enumerate(y, start=1):
        words = vocabulary[X.indices[X.indptr[number - 1] : X.indptr[number]]]
        guess = model.learn_one(dict.fromkeys(words.tolist(), 1.0), label)
        wrong += guess != label
        if number == upcoming or number == len(y):
            right = 1 - wrong / number
            console.print(
                f"  after {number:>4} mails: {right:6.1%} right so far, {model.n_features_in_:>6,} words known"
            )
            upcoming *= 2
