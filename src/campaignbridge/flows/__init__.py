"""Acts. What an operator or the system can do; each file opens with its numbered protocol.

Read `once` first: one irreversible call, at most once; everything that asks a provider for something goes
through it. Then `handoff`, `delivery`, `reconcile` and `watch`, in the order of a campaign's life. What may
not live here: SQL, HTTP, threads, a wall clock, chance.
"""
