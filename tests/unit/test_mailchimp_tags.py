"""Which fields of a list a letter mentions, in the forms that Mailchimp's templates have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaignbridge.providers.mailchimp_tags import mentioned_fields


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("Dear *|FNAME|* *|LNAME|*", {"FNAME", "LNAME"}),
        ("dear *|fname|*", {"FNAME"}),
        ("*|TITLE:FNAME|* *|UPPER:CITY|* *|LOWER:TOWN|*", {"FNAME", "CITY", "TOWN"}),
        ("*|IF:FNAME|*Dear *|FNAME|**|ELSE:|*Hello*|END:IF|*", {"FNAME"}),
        ("*|IF:AGE >= 21|*x*|ELSEIF:AGE!=3|*y*|IFNOT:CITY=Rome|*z*|END:IF|*", {"AGE", "CITY"}),
        ("*|MMERGE12|* *|MERGE3|*", {"MMERGE12", "MERGE3"}),
        ("*|UNSUB|* *|ARCHIVE|* *|EMAIL|* *|CURRENT_YEAR|* *|MC_PREVIEW_TEXT|*", set()),
        ("*|LIST:COMPANY|* *|HTML:LIST_ADDRESS_HTML|* *|DATE:Y|* *|USER:EMAIL|* *|MC:SUBJECT|*", set()),
        ("*|RSSITEM:TITLE|* *|INTERESTED:Colours:Red|* *|GROUP:x|* *|END:INTERESTED|*", set()),
        ("a*|b * | c |* *||* *|1ST|* *|a b|*", set()),
        ("nothing", set()),
    ],
)
def test_the_fields_that_a_letter_mentions(content, fields):
    assert mentioned_fields(content) == fields


@given(st.text(alphabet="*|AB:_ \n1", max_size=400))
def test_any_text_is_read_without_an_error_and_only_whole_tags_count(content):
    for tag in mentioned_fields(content):
        assert tag in content.upper()


def test_a_long_row_of_half_tags_is_read_in_one_pass():
    assert mentioned_fields("*|" * 200_000) == frozenset()
