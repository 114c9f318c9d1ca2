"""Selection of steps of a long run: the first, the last, and mistakes spread over those in between."""

from collections import deque

from .steps import Step


class Sample:
    """Collects at most `limit` steps of a run of unknown length.

    Parameters
    ----------
    limit : int or None
        Number of steps to keep; None keeps all.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.total = 0
        ends = 0 if limit is None else max(1, limit // 4)
        self._ends = ends
        self._middle_size = 0 if limit is None else max(0, limit - 2 * ends)
        self._head: list[Step] = []
        self._middle: list[Step] = []
        self._tail: deque[Step] = deque()
        self._stride = 1
        self._passed = 0  # mistakes removed from the tail

    def add(self, step: Step) -> None:
        """Add the next step of the run."""
        self.total += 1
        if self.limit is None or len(self._head) < self._ends:
            self._head.append(step)
            return
        self._tail.append(step)
        if len(self._head) + len(self._tail) > self.limit:
            self._retire()

    def _retire(self) -> None:
        """Remove the oldest step of the tail; keep it in the middle if it is a mistake that is due."""
        step = self._tail.popleft()
        if step.correct and not step.moved:
            return
        if self._passed % self._stride == 0 and self._middle_size > 0:
            if len(self._middle) == self._middle_size:
                self._middle = self._middle[::2]
                self._stride *= 2
            if self._passed % self._stride == 0:
                self._middle.append(step)
        self._passed += 1

    def steps(self) -> tuple[tuple[Step, ...], str]:
        """The kept steps in order, and a note about the others."""
        if self.limit is not None and self.total > self.limit:
            while len(self._tail) > min(self._ends, self.limit - len(self._head)):
                self._retire()
        kept = (*self._head, *self._middle, *self._tail)
        if len(kept) == self.total:
            return kept, ""
        return kept, (
            f"{len(kept):,} of {self.total:,} steps are shown: the first {len(self._head):,}, the last {len(self._tail):,}, and "
            f"{len(self._middle):,} of the {self._passed:,} mistakes and updates in between. Raise limit to see more."
        )
