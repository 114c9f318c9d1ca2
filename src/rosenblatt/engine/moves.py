"""What a kind of rules decides and does about an example; the protocol does the rest.

`adding`, `second_order` and `scaled` each fill in these verbs. Which of them is meant is a matter of types: the state of a run is
its weights and what such rules keep besides them.

A decision ends with how many weight vectors are to move: 0 if the example is left alone, and `REFUSED` if the answer of the rule
is not sound. Nothing moves before that is known.
"""

from typing import Any

__all__ = ["REFUSED", "decide", "decide_together", "move", "move_columns"]

REFUSED = -1


def decide(
    rule: Any, state: Any, settings: Any, k: Any, x: Any, norm: Any, margin: Any, product: Any, importance: Any
) -> Any:
    """Ask the rule about weight vector k; `product` is its score times the sign of the label.

    Gives the two numbers of a step, ‖x‖² if that was needed, and 1 if the vector is to move. `norm` comes in as 0, or as what was
    given for the same example before.
    """


def decide_together(
    rule: Any, state: Any, settings: Any, x: Any, true: Any, rival: Any, margin: Any, importance: Any
) -> Any:
    """Ask the rule about the lead of the true class over its rivals.

    Who is to move goes to the columns of the state, the two numbers of each step to its amounts and its lagged. Gives the size of
    the step, ‖x‖², and how many move.
    """


def move(
    state: Any, settings: Any, x: Any, norm: Any, age: Any, sign: Any, product: Any, first: Any, second: Any
) -> Any:
    """Take the step of the only weight vector; gives why the pass has to be left after it, or `DONE`."""


def move_columns(state: Any, settings: Any, x: Any, norm: Any, age: Any, moved: Any) -> Any:
    """Take the steps that were noted for several weight vectors; gives the same."""
