"""The file of contacts that the ramp demo imports: as messy as files of contacts are."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOMAINS = ("fernhill.example", "post.example", "mail.example", "garten.example")
NAMES = ("Ada", "Zoë", "Jürgen", "Nguyễn", "O'Neil", '"Smith, Jo"', "Łukasz", "Ines")
REJECTED = (  # each is refused for another reason
    "person{n}.fernhill.example,Ada",
    "person{n}@@fernhill.example,Ada",
    "per\u200bson{n}@fernhill.example,Ada",
    "per son{n}@fernhill.example,Ada",
    ",Ada",
    "person{n}@fernhill,Ada",
    "person{n}@fernhill.example,Ada,one cell too many",
)
FILE = "customers.csv"


@dataclass(frozen=True, slots=True)
class Crowd:
    """What stands in the file, by how it must be counted."""

    path: Path
    people: frozenset[str]  # identities
    suppressed: frozenset[str]  # of them: asked never to be mailed
    rows: int
    duplicates: int
    repaired: int
    rejected: int


def write_crowd(folder: Path, mailable: int) -> Crowd:
    """Write a file with so many people who may be mailed, some who may not, and a lot of noise."""
    suppressed = mailable // 180 + 1
    people = [_address(number) for number in range(mailable + suppressed)]
    duplicates, repaired, rejected = (mailable // part + 2 for part in (90, 150, 300))
    text = io.StringIO()
    text.write("Email,FNAME\r\n")
    for row in _rows(people, duplicates, repaired, rejected):
        text.write(f"{row}\r\n")
    path = folder / FILE
    path.write_bytes(b"\xef\xbb\xbf" + text.getvalue().encode())
    return Crowd(
        path,
        frozenset(people),
        frozenset(people[::181][:suppressed]),
        len(people) + duplicates + rejected,
        duplicates,
        repaired,
        rejected,
    )


def _rows(people: list[str], duplicates: int, repaired: int, rejected: int) -> Iterator[str]:
    every = len(people)
    for number, email in enumerate(people):
        shown = (
            f"\u200b{email}\u00a0"
            if number % (every // repaired) == 0 and number // (every // repaired) < repaired
            else email
        )
        yield f"{shown},{NAMES[number % len(NAMES)]}"
    for number in range(duplicates):  # in capitals: still the same person
        yield f"{people[(number * 37) % every].upper()},{NAMES[(number * 37) % every % len(NAMES)]}"
    for number in range(rejected):
        yield REJECTED[number % len(REJECTED)].format(n=number)


def _address(number: int) -> str:
    return f"person{number}@{DOMAINS[number % len(DOMAINS)]}"
