"""Connections in the store."""

from campaignbridge.domain.connection import Connection, Sealed
from campaignbridge.ports import Row, Transaction


class Accounts:
    """The connections of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, connection: Connection) -> bool:
        """Add a connection; False when the label is taken."""
        return (
            self._tx.run(
                "connections.add",
                id=connection.id,
                provider=connection.provider,
                label=connection.label,
                base_url=connection.base_url,
                **_key_columns(connection),
            )
            == 1
        )

    def find(self, ref: str) -> Connection | None:
        """Return the connection with this id or label."""
        row = self._tx.one("connections.find", ref=ref)
        return connection_of(row) if row else None

    def all(self) -> list[Connection]:
        """Return every connection by label."""
        return [connection_of(row) for row in self._tx.all("connections.all")]

    def verified(self, connection_id: str, *, account: str, account_label: str) -> bool:
        """Record that the key opens this account; False when it is another one than before."""
        return (
            self._tx.run(
                "connections.verified", id=connection_id, account=account, account_label=account_label
            )
            == 1
        )

    def refused(self, connection_id: str, code: str) -> None:
        """Record that the provider refused the key."""
        self._tx.run("connections.refused", id=connection_id, code=code)

    def replace_key(self, connection: Connection, *, account: str, account_label: str) -> bool:
        """Take over where the key is from `connection`; False when it opens another account than before."""
        return (
            self._tx.run(
                "connections.replace_key",
                id=connection.id,
                account=account,
                account_label=account_label,
                **_key_columns(connection),
            )
            == 1
        )

    def reseal(self, connection_id: str, before: Sealed, after: Sealed) -> bool:
        """Keep the same key in another box; False when the key was replaced meanwhile."""
        return (
            self._tx.run(
                "connections.reseal",
                id=connection_id,
                key_id=after.key_id,
                key_sealed=after.box,
                sealed_before=before.box,
            )
            == 1
        )

    def moving(self, connection_id: str) -> list[str]:
        """Return the campaigns that need the key: they move, or a request of theirs is unresolved."""
        return [row["id"] for row in self._tx.all("connections.moving", id=connection_id)]

    def disconnect(self, connection_id: str) -> bool:
        """Forget the key; False while a campaign needs it."""
        return self._tx.run("connections.disconnect", id=connection_id) == 1


def connection_of(row: Row, *, id_column: str = "id") -> Connection:
    """Return the connection that a row holds."""
    sealed = None
    if row["key_sealed"] is not None:
        sealed = Sealed(row["key_id"], row["key_sealed"], row["installation"])
    return Connection(
        id=row[id_column],
        provider=row["provider"],
        label=row["label"],
        account=row["account"],
        account_label=row["account_label"],
        base_url=row["base_url"],
        variable=row["key_env"],
        sealed=sealed,
        verified_at=row["verified_at"],
        refused_at=row["refused_at"],
        refused_code=row["refused_code"],
        disconnected_at=row["disconnected_at"],
    )


def _key_columns(connection: Connection) -> dict[str, str | None]:
    sealed = connection.sealed
    return {
        "key_env": connection.variable,
        "key_id": sealed.key_id if sealed else None,
        "key_sealed": sealed.box if sealed else None,
    }
