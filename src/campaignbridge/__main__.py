"""`python -m campaignbridge`: the command line."""

import sys

from campaignbridge.cli import main

sys.exit(main())
