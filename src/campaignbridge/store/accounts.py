"""Connections in the store."""

from campaignbridge.domain.connection import Connection
from campaignbridge.ports import Row, Transaction


class Accounts:
    """The connections of one transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def add(self, *, id: str, provider: str, label: str, base_url: str | None, key_env: str) -> bool:  # noqa: A002
        """Add a connection; False when the label is taken."""
        return (
            self._tx.run(
                "connections.add", id=id, provider=provider, label=label, base_url=base_url, key_env=key_env
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


def connection_of(row: Row, *, id_column: str = "id") -> Connection:
    """Return the connection that a row holds."""
    return Connection(
        id=row[id_column],
        provider=row["provider"],
        label=row["label"],
        account=row["account"],
        account_label=row["account_label"],
        base_url=row["base_url"],
        key_env=row["key_env"],
        verified_at=row["verified_at"],
        refused_at=row["refused_at"],
        refused_code=row["refused_code"],
    )
