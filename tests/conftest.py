"""Settings for all tests."""

from hypothesis import settings

# The first call of a kernel compiles it, so the time of one example says nothing.
settings.register_profile("rosenblatt", deadline=None)
settings.load_profile("rosenblatt")
