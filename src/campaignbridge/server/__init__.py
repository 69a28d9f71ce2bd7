"""The HTTP side: a thin surface over the bridge. No rule lives here.

Lives here: the application (`app`), what providers may post (`webhooks`), and the process's listening
(`listening`). Only this package knows the web framework. Read `app.py` first.
"""
