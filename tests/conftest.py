"""Settings for all tests."""

from hypothesis import settings

from tests.helpers import FAST

# The first call of a kernel compiles it, so the time of one example says nothing.
settings.register_profile("rosenblatt", deadline=None, max_examples=10 if FAST else 100)
settings.load_profile("rosenblatt")
