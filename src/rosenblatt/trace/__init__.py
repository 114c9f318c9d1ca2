"""Traces of training runs, with one record for each step."""

from .run import trace
from .steps import Step, Survivor, Trace

__all__ = ["Step", "Survivor", "Trace", "trace"]
