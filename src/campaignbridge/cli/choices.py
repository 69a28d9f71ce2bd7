"""What was chosen for the whole process: by flags that may stand anywhere, or their environment twins."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(slots=True)
class Choices:
    """One process has one set of choices; `terminal` and `session` read them."""

    database: str | None = None
    json: bool = False
    no_color: bool = False
    no_input: bool = False
    verbose: bool = False
    debug: bool = False

    def start(self, arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
        """Begin anew. What decides how an error is told is known before the arguments are understood."""

        def given(flag: str) -> bool:
            twin = "CAMPAIGNBRIDGE_" + flag.removeprefix("--").replace("-", "_").upper()
            return flag in arguments or environment.get(twin, "").lower() in TRUE

        self.database = None
        self.json = given("--json")
        self.no_color = given("--no-color")
        self.no_input = given("--no-input")
        self.debug = given("--debug")
        self.verbose = False


CHOICES = Choices()
