"""The calls about static segments: one part of `Mailchimp`. What they say is in `mailchimp_segments`."""

from campaignbridge import ports
from campaignbridge.domain.provider import FoundSegment, Listing, Member, NewContact, Outcome, Push
from campaignbridge.providers import mailchimp_segments as segments
from campaignbridge.providers import mailchimp_wire as wire
from campaignbridge.providers.answers import JsonObject
from campaignbridge.providers.mailchimp_speech import Speech


class SegmentCalls:
    """Segments of one account, as a part of `ports.Provider`."""

    push_chunk = segments.CHUNK
    _speech: Speech

    def create_segment(
        self, line: ports.Line, name: str, *, audience: str, limit_ms: int
    ) -> Outcome[FoundSegment]:
        """Create an empty static segment of a list. Its name is unique there: a taken one is refused."""
        list_id, _ = wire.split_audience(audience)
        body = segments.segment_body(name)
        answer = self._speech.say(line, "POST", f"/lists/{list_id}/segments", body, limit_ms=limit_ms)
        return self._speech.judge(answer, lambda made: segments.read_segment(made, list_id), reading=False)

    def find_segment(self, name: str, *, audience: str, limit_ms: int) -> Outcome[Listing[FoundSegment]]:
        """Find the static segment of this name."""
        list_id, _ = wire.split_audience(audience)
        return segments.find(name, list_id, self._turn(f"/lists/{list_id}/segments", limit_ms))

    def segment_members(self, segment: str, *, limit_ms: int) -> Outcome[Listing[Member]]:
        """List everybody in a segment, those who left included; 1,000 a request."""
        list_id, number = _segment(segment)
        return segments.members(self._turn(f"/lists/{list_id}/segments/{number}/members", limit_ms))

    def add_contacts(self, segment: str, contacts: tuple[NewContact, ...], *, limit_ms: int) -> Push:
        """Put up to 500 people into a segment; see `mailchimp_segments`."""
        assert len(contacts) <= self.push_chunk, "the caller cuts into chunks"
        list_id, number = _segment(segment)
        return segments.add(list_id, number, contacts, self._asking(limit_ms))

    def remove_contacts(self, segment: str, addresses: tuple[str, ...], *, limit_ms: int) -> Push:
        """Take up to 500 people out of a segment."""
        assert len(addresses) <= self.push_chunk, "the caller cuts into chunks"
        list_id, number = _segment(segment)
        return segments.remove(list_id, number, addresses, self._asking(limit_ms))

    def _turn(self, path: str, limit_ms: int) -> segments.Turn:
        left_ms = self._speech.transport.countdown(limit_ms)
        return lambda query: self._speech.judge(
            self._speech.get(path, query, limit_ms=left_ms()), lambda body: body, reading=True
        )

    def _asking(self, limit_ms: int) -> segments.Ask:
        left_ms = self._speech.transport.countdown(limit_ms)

        def ask(method: str, path: str, body: JsonObject) -> Outcome[JsonObject]:
            answer = self._speech.write(method, path, body, limit_ms=left_ms())
            return self._speech.judge(answer, lambda read: read, reading=False)

        return ask


def _segment(ref: str) -> tuple[str, int]:
    list_id, number = wire.split_audience(ref)
    if number is None:
        raise ValueError("This is a whole Mailchimp list; people are put into a segment of it: list:segment.")
    return list_id, number
