"""Keeps time. Knows jobs, not campaigns: handlers are handed in.

Read `worker` first (how one job is run), then `tick` (one batch, for cron) and `runtime` (a long-running
process: the only file with threads and signals).
"""
