"""The ledger's own words: keys, hashes, titles and tokens."""

import pickle

import pytest

from campaignbridge.domain.errors import InvalidInput, Locked, Refusal
from campaignbridge.domain.ledger import request_hash, require_key, title_with_token, token_stem


@pytest.mark.parametrize("key", ["k", "k_2026-11-29", "A.b:c-d_1", "x" * 100])
def test_a_well_formed_key_is_taken_as_it_is(key: str) -> None:
    assert require_key(key) == key


@pytest.mark.parametrize("key", ["", "x" * 101, "a b", "a\n", "é", "a/b", "\x00"])
def test_a_malformed_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput):
        require_key(key)


def test_a_request_that_differs_in_any_part_or_in_where_parts_end_has_another_hash() -> None:
    assert request_hash("send", "ab", 1) == request_hash("send", "ab", 1)
    assert len({request_hash(*parts) for parts in (("a", "b"), ("ab",), ("a", "b", ""), ("a", "c"))}) == 4


def test_a_long_name_is_cut_so_that_the_token_always_fits() -> None:
    title = title_with_token("n" * 100, f"{token_stem('house', 'cmp_1')}.g1")
    assert title == "n" * 60 + " [house.cmp_1.g1]"
    assert title_with_token("short ", "t") == "short [t]"


def test_a_refusal_keeps_code_and_facts_across_processes_and_drops_what_is_not_known() -> None:
    refusal = Locked("Held.", todo="Wait.", retry_after=7, nothing=None)
    copy = pickle.loads(pickle.dumps(refusal))
    assert (copy.code, copy.what, copy.todo, copy.facts) == ("locked", "Held.", "Wait.", {"retry_after": 7})
    assert Refusal("x", code="audience_drift").code == "audience_drift"
