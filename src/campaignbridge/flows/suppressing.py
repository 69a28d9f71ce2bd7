"""Taking people off every mailing to come, whoever says so: an operator, a provider's record, or a signed event."""

from collections.abc import Mapping

from campaignbridge.domain.audience import Suppressed, erased_identity, person_hash
from campaignbridge.store.unit import Unit


def take_off(unit: Unit, reasons: Mapping[str, Suppressed], *, source: str) -> int:
    """Suppress people by identity; return for how many of them that is new or stronger.

    A stronger reason that is there stays. Somebody who was erased is never mailed anyway, and their address isn't
    written down again: erasures wait until this transaction has ended.
    """
    if not reasons:
        return 0
    key = unit.audiences.share()
    kept = dict(reasons)
    if unit.suppressions.any_erased():
        hashes = {erased_identity(person_hash(key, one)): one for one in reasons}
        for gone in unit.suppressions.among(list(hashes)):
            kept.pop(hashes[gone], None)
    return unit.suppressions.add_each(kept, source=source)
