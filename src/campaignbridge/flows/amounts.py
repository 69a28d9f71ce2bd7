"""Numbers and ages in words, for what flows tell people."""


def count(number: int, one: str, more: str = "") -> str:
    """Return `1 job` or `2 jobs`; `more` is the plural where an s won't do."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def age(ms: int) -> str:
    """Return how long that is: `3 s`, `5 min`, `6 h 12 min`, `2 days`."""
    minutes = max(0, ms) // 60_000
    if minutes < 2:
        return f"{max(0, ms) // 1000} s"
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {rest} min" if hours else f"{minutes} min"
