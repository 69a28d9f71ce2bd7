"""Files of contacts as bytes, the small ones of the cases by name, and how a test imports them."""

import random
from dataclasses import dataclass
from pathlib import Path

from campaignbridge.domain.actor import with_all_rights
from campaignbridge.flows import importing
from campaignbridge.flows.rejects import RejectsFile
from campaignbridge.flows.tables import Choices, look_at
from support.stores import Home, wiring

ACTOR = with_all_rights("cli:test")
PAD = 60


def padded(*cells: str) -> str:
    return ",".join(f"{cell:<{PAD}}" for cell in cells)


def big(rows: int, seed: int = 7) -> bytes:
    """1 % duplicates spread over the whole file, and 10 rows with 40 columns instead of 3."""
    dice = random.Random(seed)
    lines = ["email,name,city"]
    wide = set(dice.sample(range(1, rows), 10))
    doubled = set(dice.sample([row for row in range(rows // 2, rows) if row not in wide], rows // 100))
    single = [row for row in range(rows // 2) if row not in wide]
    for row in range(rows):
        if row in wide:
            lines.append(",".join(["x"] * 40))
        else:
            person = dice.choice(single) if row in doubled else row
            lines.append(f"p{person}@example.com,Name {person},City {person % 300}")
    return "\n".join(lines).encode() + b"\n"


FILES = {
    "bom": b"\xef\xbb\xbfemail,name\nann@example.com,Ann\nbob@example.com,Bob\n",
    "semicolon": (
        b"email;name;city\r\nann@example.com;Ann;Bern\r\njane@example.com;Doe, Jane;Bonn\r\n"
        b"zoe@example.com;Zoe;Berlin\r\n"
    ),
    "quoted_newline": (
        b'email,name,note\nann@example.com,Ann,plain\nbob@example.com,Bob,"first ""line""\nsecond"\n'
        b"zoe@example.com,Zoe,last"
    ),
    "cp1252": (
        b"email,name\nann@example.com,St\xe9phane\nbob@example.com,M\xfcller\nzoe@example.com,5 \x80\n"
        b"eve@example.com,\xd6zg\xfcr\n"
    ),
    "case_dupes": (
        b"email,name\nAnn@Example.com,Ann\nann@example.com,Ann\nANN@EXAMPLE.COM,Annie\nann@example.com ,Annie\n"
    ),
    "invisible": (
        "email,name\nann@example.com\u00a0,Ann\n\u200bbob@example.com,Bob\nc\u2060arl@example.com,Carl\n"
        "dora\uff20example.com,Dora\nev\u0430@example.com,Eva\n"
    ).encode(),
    "padded": "\n".join(
        [
            padded("", "", ""),
            padded("email", "name", "city"),
            padded("ann@example.com", "Ann", "Bern"),
            padded("bob@example.com", "Bob", "Bonn"),
            padded("zoe@example.com", "Zoe", "Berlin"),
            'eve@example.com,Eve,"Rome',
            padded("kim@example.com", "Kim", "Oslo"),
            'lou@example.com,Lou,"Paris"',
        ]
    ).encode(),
    "formula": b"email,name\n=1+1,=1+1\nann@example.com,=SUM(A1)\nbad,+cmd\nbad,-2\n@bad,@x\n",
    "export_mailchimp_like": (
        b"E-Mail-Adresse,Vorname,Nachname,Sprache,TAGS,OPTIN_TIME\n"
        b'ann@example.com,Ann,Bauer,de,"""News"",""VIP""",2024-05-01 10:00:00\n'
        b'bob@example.com,,Kunz,en,"""News""",2024-05-02 10:00:00\n'
        b"zoe@example.com,,,,,2024-05-03 10:00:00\n"
    ),
}


@dataclass
class Desk:
    """One store, and files that are imported into it."""

    home: Home
    folder: Path

    def __post_init__(self):
        self.store = self.home.store()
        self.wiring = wiring(self.store)

    def file(self, data: bytes, name: str = "people.csv") -> str:
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def bring(
        self,
        data: bytes | str,
        audience: str = "eu",
        *,
        name="people.csv",
        batch_rows=1_000,
        tell=None,
        **choices,
    ):
        path = data if isinstance(data, str) else self.file(data, name)
        table = look_at(path, Choices(**choices))
        importing.make_audience(self.wiring, audience, actor=ACTOR)
        self.rejects = RejectsFile(path)
        return importing.import_contacts(
            self.wiring,
            table,
            audience,
            rejects=self.rejects,
            tell=tell or (lambda *_: None),
            actor=ACTOR,
            batch_rows=batch_rows,
        )

    def contacts(self, audience: str = "eu") -> dict[str, dict]:
        rows = self.home.rows(
            "SELECT c.* FROM contacts c JOIN audiences a ON a.id = c.audience_id WHERE a.slug = ?", audience
        )
        return {row["identity"]: row for row in rows}


def child_imports(home: Home, parent, folder: str, path: str, batch_rows: int) -> dict:
    """Import in a process of its own, saying after every batch how far it is; the main work of a `Child`."""
    desk = Desk(home, Path(folder))
    done = desk.bring(path, batch_rows=batch_rows, tell=lambda progress, _: parent.say(progress.rows_read))
    return {**done.counts, "resumed_at": done.resumed_at, "rejects": desk.rejects.path}
