"""Hands notices to people elsewhere: a signed webhook of our own, or whatever Apprise reaches.

What is told, when and how often is decided in `flows/notices.py`; nothing in here retries, stores or logs.
Senders see ports and domain, and the providers' transport. Read `webhook.py` first.
"""
