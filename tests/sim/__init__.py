"""The deterministic simulation: the shipping flows, worker and adapter, under every fault we can think of.

Real: flows, engine, store (SQLite in memory), Mailchimp adapter, sandbox. Replaced: time, chance and socket.
Read `schedule` (who runs when), then `machine` (one run), `scenarios`, `mutants`, and `__main__`.
"""
