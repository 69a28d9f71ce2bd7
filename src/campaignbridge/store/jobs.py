"""Jobs in the store: claimed by one conditional statement, ended by their fence and holder."""

import json
from collections.abc import Iterable, Mapping

from campaignbridge.domain.job import Again, Job, JobState, Payload, Request, encode_payload, require_code
from campaignbridge.ports import Row, Transaction

MOST_MS = 1 << 62  # after every time


class Jobs:
    """The jobs of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def enqueue(self, job_id: str, request: Request, *, at: int | None = None, delay_ms: int = 0) -> str:
        """Queue a job, or have the unfinished one with its key take the earlier time; return its id.

        `job_id` is used when it is new. `at` is the store's clock; a negative delay counts as 0.
        """
        row = self._tx.one("jobs.enqueue", **_enqueued(job_id, request, at, delay_ms))
        assert row is not None
        return str(row["id"])

    def enqueue_many(
        self,
        requests: Iterable[tuple[str, Request]],
        *,
        at: Mapping[str, int] | None = None,
        delay_ms: int = 0,
    ) -> int:
        """Queue many jobs at once, sorted by key so that two of these can't deadlock.

        `at` has a time for some of the new ids, in the store's clock; the others come after `delay_ms`.
        """
        ordered = sorted(requests, key=lambda item: (item[1].key or "", item[0]))
        return self._tx.each(
            "jobs.enqueue_quietly",
            [_enqueued(job_id, request, (at or {}).get(job_id), delay_ms) for job_id, request in ordered],
        )

    def claim(self, *, holder: str, batch: int, lease_ms: int) -> list[Job]:
        """Claim one job whose lease ended, else up to `batch` due ones, in the order they were due."""
        rows = self._tx.all("jobs.claim", holder=holder, batch_literal=batch, lease_ms=lease_ms)
        return [_job_of(row) for row in sorted(rows, key=lambda row: (row["run_at"], row["id"]))]

    def renew_all(self, jobs: Iterable[Job], *, holder: str, lease_ms: int) -> set[tuple[str, int]]:
        """Lengthen the live leases of what a worker has in hand; return (id, fence) of what is still its own."""
        in_hand = "".join(f",{job.id}:{job.fence}," for job in jobs)
        rows = self._tx.all("jobs.renew_all", holder=holder, lease_ms=lease_ms, in_hand=in_hand)
        return {(row["id"], row["fence"]) for row in rows}

    def renew(self, job: Job, *, lease_ms: int) -> bool:
        """Lengthen a live lease; False when it ended or was taken over."""
        return self._by_owner("jobs.renew", job, lease_ms=lease_ms)

    def start(self, job: Job, *, lease_ms: int) -> bool:
        """Mark a job as started, from where on nobody runs it again; False when its lease is over."""
        return self._by_owner("jobs.start", job, lease_ms=lease_ms)

    def finish(self, job: Job) -> bool:
        """Record that the job is done; False when it was taken over."""
        return self._by_owner("jobs.finish", job)

    def again(self, job: Job, again: Again) -> bool:
        """Put the job back in the queue with its attempts reset; False when it was taken over."""
        payload = None if again.payload is None else encode_payload(again.payload)
        return self._by_owner(
            "jobs.again", job, run_at=again.at, delay_ms=max(0, again.after_ms or 0), payload=payload
        )

    def retry(self, job: Job, code: str, *, delay_ms: int) -> bool:
        """Put the job back in the queue with its attempts kept; False when it was taken over."""
        return self._by_owner("jobs.retry", job, code=require_code(code), delay_ms=max(0, delay_ms))

    def end(self, job: Job, state: JobState, code: str, *, fresh_id: str) -> bool:
        """End the job for good; False when it was taken over. A wish for another run makes a fresh job."""
        row = self._tx.one(
            "jobs.end",
            id=job.id,
            fence=job.fence,
            holder=job.holder,
            state=state.value,
            code=require_code(code),
        )
        if row is None:
            return False
        if row["rerun_at"] is not None:
            fresh = Request(
                type=job.type,
                target=job.target,
                dedupe_key=row["dedupe_key"] or "",
                max_attempts=row["max_attempts"],
            )
            self.enqueue(fresh_id, fresh, at=row["rerun_at"])
        return True

    def give_back(self, job: Job) -> bool:
        """Return a job that was claimed and never started; no attempt is counted.

        False when it was started or taken over, or had no attempt left: then it waits for its lease to end.
        """
        return self._by_owner("jobs.give_back", job)

    def purge(self, *, keep_ms: int, keep_failed_ms: int, chunk: int) -> int:
        """Delete jobs that ended long ago, up to `chunk` of each kind."""
        return self._tx.run("jobs.purge", keep_ms=keep_ms, keep_failed_ms=keep_failed_ms, chunk_literal=chunk)

    def requeue(self, job_id: str) -> bool:
        """Queue an ended job anew; False when it isn't failed or dead, or its key is in use."""
        return self._tx.run("jobs.requeue", id=job_id) == 1

    def get(self, job_id: str) -> Row | None:
        """Return a job's row by id."""
        return self._tx.one("jobs.get", id=job_id)

    def newest(self, *, state: str = "", most: int = 50, after: tuple[int, str] | None = None) -> list[Row]:
        """Return a page of jobs after one whose `place` and `id` are given; without payloads.

        All of them, the newest first; or those of one state: what is queued and claimed in the order in which
        it is due or ends, what has ended the latest first.
        """
        match state:
            case "":
                return self._tx.all("jobs.newest", after_id=after[1] if after else "~", most=most)
            case "queued" | "claimed":
                place, job_id = after or (-1, "")
                return self._tx.all(f"jobs.{state}", after_place=place, after_id=job_id, most=most)
            case _:
                place, job_id = after or (MOST_MS, "")
                return self._tx.all("jobs.ended", state=state, after_place=place, after_id=job_id, most=most)

    def figures(self, *, late_ms: int, most: int) -> Row:
        """Return how many jobs wait, are claimed, stopped or `late_ms` overdue: each up to `most`."""
        row = self._tx.one("jobs.figures", late_ms=late_ms, most_literal=most)
        assert row is not None
        return row

    def ended_badly(self, *, most: int) -> list[Row]:
        """Return how many of the newest dead and failed jobs have which code."""
        return self._tx.all("jobs.ended_badly", most_literal=most)

    def _by_owner(self, name: str, job: Job, **params: object) -> bool:
        return self._tx.run(name, id=job.id, fence=job.fence, holder=job.holder, **params) == 1


def _enqueued(job_id: str, request: Request, at: int | None, delay_ms: int) -> dict[str, object]:
    return {
        "id": job_id,
        "type": request.type,
        "target": request.target,
        "dedupe_key": request.key,
        "payload": encode_payload(request.payload),
        "max_attempts": request.max_attempts,
        "run_at": at,
        "delay_ms": max(0, delay_ms),
    }


def _job_of(row: Row) -> Job:
    payload: Payload = json.loads(row["payload"])
    return Job(
        id=row["id"],
        type=row["type"],
        target=row["target"],
        payload=payload,
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        fence=row["fence"],
        holder=row["holder"],
        taken_over=bool(row["taken_over"]),
        exhausted=bool(row["exhausted"]),
        started=row["started_at"] is not None,
    )
