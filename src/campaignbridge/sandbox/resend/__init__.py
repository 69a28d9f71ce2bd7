"""Resend's API over the same world: broadcasts, segments, contacts, domains, test mails, figures, webhooks.

A broadcast is a `Campaign`, an account's contacts are one list that Mailchimp's side never shows, and its segments
are static ones of that list. So deliveries, faults, stale readings and the truth log are the ones of the whole
sandbox. Read `api.py` first, then `broadcasts.py`.
"""
