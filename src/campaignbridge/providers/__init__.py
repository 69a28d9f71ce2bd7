"""SPEAK. One adapter for each email provider, on one transport.

Here lives everything that knows a provider's wire protocol, and the only HTTP client of the project. What
may not live here: decisions (they are in `domain`), the database, retries and locks (they are in `flows`).
Modules of this package import the standard library, `httpcore2`, `ports` and `domain`, nothing else of ours.

Read `transport.py` first: it decides what is refused or ambiguous when no answer came. Then `mailchimp.py`,
whose `mailchimp_wire.classify` decides the same for answers.
"""
