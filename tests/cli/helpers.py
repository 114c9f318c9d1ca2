"""Files for testing the commands, and ways to call them."""

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

from click.testing import CliRunner

import rosenblatt
from rosenblatt.cli import app
from rosenblatt.datasets import load_spam


def call(*arguments, code=0, stdin=None):
    """Run a command inside this process; return its standard output and standard error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stderr
    assert "Traceback" not in result.stderr
    return result


def answer(*arguments, **options):
    """The output of a command with --json."""
    return json.loads(call(*arguments, "--json", "--quiet", **options).stdout)


def process(*arguments, **options):
    """Run a command as a separate process."""
    source = str(Path(rosenblatt.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-m", "rosenblatt.cli", *map(str, arguments)], text=True,
        env={**os.environ, "PYTHONPATH": source}, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )  # fmt: skip


def call_interrupted(number, *arguments):
    """Run an endless training inside this process, and send it a signal after it has learned for a while.

    The signal is sent after a third of a second of processor time since the signal handler was installed. Compile everything
    before.
    """
    usual, ended = signal.getsignal(signal.SIGINT), threading.Event()

    def send():
        while signal.getsignal(signal.SIGINT) is usual:
            if ended.wait(0.005):
                return
        began = time.process_time()
        while time.process_time() < began + 0.3:
            if ended.wait(0.005):
                return
        os.kill(os.getpid(), number)
        if not ended.wait(30):
            os.kill(os.getpid(), number)  # a second signal, in case the first one did not end it

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return call(*arguments, code=130)
    finally:
        ended.set()
        sender.join()


def wait_until_it_waits(running, seconds=60):
    """Wait until a process has read all of its input and is idle."""
    deadline, before = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        unread = int.from_bytes(fcntl.ioctl(running.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)
        stats = [
            task.read_text().rpartition(")")[2].split() for task in Path(f"/proc/{running.pid}/task").glob("*/stat")
        ]
        now = unread, {stat[0] for stat in stats}, sum(int(stat[11]) + int(stat[12]) for stat in stats)
        if now == before and now[:2] == (0, {"S"}):
            return
        before = now
        time.sleep(0.1)
    raise TimeoutError(f"it is still busy: {before}")


def numbers(path, count=300, seed=0, classes=("no", "yes"), header=True):
    """A CSV file with three numbers, a category and a label that depends on them."""
    rng = random.Random(seed)
    lines = ["height,width,depth,colour,label"] if header else []
    for _ in range(count):
        values = [rng.uniform(-1, 1) for _ in range(3)]
        colour = rng.choice(["red", "green", "blue"])
        score = values[0] - 2 * values[1] + (0.7 if colour == "red" else 0.0)
        label = classes[min(len(classes) - 1, int(max(0.0, score + 1) * len(classes) / 2))]
        lines.append(",".join([*(f"{value:.4f}" for value in values), colour, label]))
    path.write_text("\n".join(lines) + "\n")
    return path


def svmlight(path, count=300, seed=0, features=50):
    """An svmlight file that is linearly separable."""
    rng = random.Random(seed)
    weights = [rng.gauss(0, 1) for _ in range(features)]
    lines = []
    while len(lines) < count:
        x = {rng.randrange(features): round(rng.uniform(-1, 1), 3) for _ in range(8)}
        score = sum(weights[j] * value for j, value in x.items())
        if abs(score) > 0.2:
            lines.append(f"{'+1' if score > 0 else '-1'} " + " ".join(f"{j + 1}:{x[j]}" for j in sorted(x)))
    path.write_text("\n".join(lines) + "\n")
    return path


def mails(folder):
    """Real mails as two files without a header, tab-separated, the label first."""
    texts, labels = load_spam()
    lines = [f"{label}\t{' '.join(text.split())[:400]}" for text, label in zip(texts, labels, strict=True)]
    lines = [line.replace('"', "'") for line in lines]
    random.Random(0).shuffle(lines)
    train, test = folder / "train.tsv", folder / "test.tsv"
    train.write_text("\n".join(lines[:1600]) + "\n")
    test.write_text("\n".join(lines[1600:]) + "\n")
    return train, test
