"""Decides. Pure rules over plain values: no clock, no chance, no I/O, standard library only.

Read `campaign` first (states are a table), then `ledger` (requests and their outcomes) and `evidence`
(what a reading at the provider proves).
"""
