"""The online-learning service: predict now, learn when the truth arrives, lose nothing.

`store` keeps the event log, `learner` the models that it makes, `service` joins them by group commit, `app` is the HTTP side.
"""
