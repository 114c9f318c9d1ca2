"""A run, step by step: the real learner, watched one example at a time."""

from .run import trace
from .steps import Step, Survivor, Trace

__all__ = ["Step", "Survivor", "Trace", "trace"]
