"""Keys at rest: AES-256-GCM under a ring of keys that the store never sees.

The first key of the ring seals, every one opens. A box is bound to its row: installation, connection,
provider and the host that the key is sent to. Moved to another row, or with its row to another host, it
doesn't open.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from campaignbridge.domain.connection import Connection, Sealed, Secret
from campaignbridge.domain.errors import InvalidInput

CONNECTION_KEY = "connection key"
SIGNING_KEY = "webhook signing key"
KEY_BYTES = 32
NONCE_BYTES = 12
MAX_RING = 20
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_SHAPE = (
    "Each is an id, a colon and 32 bytes in base64; separate them by commas. campaignbridge init makes one."
)


class KeyRing:
    """Keys by id, the one that seals first. Shows ids only."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = dict(keys)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._keys)})"

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("A key ring is not written down.")

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, the one that seals first."""
        return tuple(self._keys)

    def cipher(self, key_id: str) -> AESGCM | None:
        """Return the cipher of a key; None when the ring has no such key."""
        key = self._keys.get(key_id)
        return None if key is None else AESGCM(key)


def parse_ring(text: Secret, *, place: str) -> KeyRing:
    """Return the ring that a text holds: `id:base64`, by commas or lines, `#` before a remark.

    Raises `InvalidInput` that names the entry by its number: what was mistaken for an id may be a key.
    """
    lines = (line.partition("#")[0] for line in text.reveal().splitlines())
    entries = [entry.strip() for line in lines for entry in line.split(",") if entry.strip()]
    if len(entries) > MAX_RING:
        raise InvalidInput(
            f"{place} holds more than {MAX_RING} keys.", todo="Take out what seals nothing more."
        )
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(entries, start=1):
        key_id, _, encoded = entry.partition(":")
        key = _decoded(encoded)
        if not _KEY_ID.fullmatch(key_id) or key is None:
            raise InvalidInput(f"Key {number} in {place} can't be read.", todo=_SHAPE)
        if key_id in keys:
            raise InvalidInput(f"Key {number} in {place} has the id of another one.", todo=_SHAPE)
        keys[key_id] = key
    return KeyRing(keys)


def new_ring_line(key_id: str) -> Secret:
    """Return a fresh key of the ring, as it is written into a file or a variable."""
    return Secret(f"{key_id}:{base64.b64encode(os.urandom(KEY_BYTES)).decode()}")


class Vault:
    """Seals and opens the keys of connections. The ring is read when it is first needed."""

    def __init__(self, read_ring: Callable[[], KeyRing]) -> None:
        self._read_ring = read_ring
        self._ring: KeyRing | None = None

    def __repr__(self) -> str:
        return "Vault(...)"

    def seal(
        self,
        key: Secret,
        *,
        installation: str,
        connection_id: str,
        provider: str,
        base_url: str | None,
        use: str = CONNECTION_KEY,
    ) -> Sealed:
        """Return the key sealed for one row and one use, under the ring's first key."""
        ring = self._keys()
        if not ring.ids:
            raise InvalidInput(
                "There is no key ring to store a key under.",
                todo="Run campaignbridge init, set CAMPAIGNBRIDGE_SECRET_FILE, or use --key-env.",
            )
        key_id = ring.ids[0]
        cipher = ring.cipher(key_id)
        assert cipher is not None
        nonce = os.urandom(NONCE_BYTES)
        bound = _bound(use, key_id, installation, connection_id, provider, base_url)
        box = nonce + cipher.encrypt(nonce, key.reveal().encode(), bound)
        return Sealed(key_id, base64.b64encode(box).decode(), installation)

    def open(self, connection: Connection) -> Secret:
        """Return a connection's stored key. Raises `InvalidInput`: another process may have the ring for it."""
        sealed = connection.sealed
        assert sealed is not None, "it has a stored key"
        return self.open_box(sealed, connection, use=CONNECTION_KEY)

    def open_box(self, sealed: Sealed, connection: Connection, *, use: str) -> Secret:
        """Return what was sealed for this connection and this use; raises as `open` does."""
        cipher = self._keys().cipher(sealed.key_id)
        if cipher is None:
            raise InvalidInput(
                f"The key of {connection.label} is sealed under {sealed.key_id!a}, which the key ring here lacks.",
                todo="Put that key back into the ring, or give the provider's key anew:",
                command=f"campaignbridge connections replace-key {_word(connection.label)}",
            )
        bound = _bound(
            use, sealed.key_id, sealed.installation, connection.id, connection.provider, connection.base_url
        )
        try:
            box = base64.b64decode(sealed.box, validate=True)
            return Secret(cipher.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], bound).decode())
        except (InvalidTag, ValueError):  # too short, not base64, or not what was sealed for this row
            raise InvalidInput(
                f"The stored key of {connection.label} does not belong to its row, or is damaged.",
                todo="Find out who changed the store; then give the provider's key anew:",
                command=f"campaignbridge connections replace-key {_word(connection.label)}",
            ) from None

    def is_newest(self, sealed: Sealed) -> bool:
        """Say whether the ring's first key sealed it."""
        return self._keys().ids[:1] == (sealed.key_id,)

    def seal_anew(self, sealed: Sealed, connection: Connection, *, use: str) -> Sealed | None:
        """Return the same secret under the ring's first key; None where that sealed it. Raises as `open_box` does."""
        if self.is_newest(sealed):
            return None
        return self.seal(
            self.open_box(sealed, connection, use=use),
            installation=sealed.installation,
            connection_id=connection.id,
            provider=connection.provider,
            base_url=connection.base_url,
            use=use,
        )

    def _keys(self) -> KeyRing:
        if self._ring is None:
            self._ring = self._read_ring()
        return self._ring


def _bound(  # noqa: PLR0917  the list is the point
    use: str, key_id: str, installation: str, connection_id: str, provider: str, base_url: str | None
) -> bytes:
    # A JSON list: no two rows have the same text.
    return json.dumps([use, 1, key_id, installation, connection_id, provider, base_url]).encode()


def _decoded(encoded: str) -> bytes | None:
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


def _word(label: str) -> str:
    return f"'{label}'" if " " in label else label
