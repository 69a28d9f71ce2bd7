"""What a running process tells about itself: one line of plain words for each thing worth knowing.

Ids and stable codes only: never an address, a key, a subject or a provider's text.
"""

import logging

LOG = logging.getLogger("campaignbridge")


def job_log(event: str, job_id: str, job_type: str) -> None:
    """Say that something befell a job."""
    LOG.warning("job %s (%s): %s", job_id, job_type, event)


def to_stderr(*, verbose: bool = False) -> None:
    """Send the log of this process to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG if verbose else logging.INFO)
