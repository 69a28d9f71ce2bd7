"""CampaignBridge: email campaigns that no crash, timeout or second click can send twice.

    from campaignbridge import open_bridge, with_all_rights
    with open_bridge("campaigns.db") as bridge:
        bridge.newest(actor=with_all_rights("cron"))

Read `bridge` for what can be done, `flows.once` for how one request is made at most once. Importing starts no
thread and opens no file.
"""

from campaignbridge.bootstrap import open_bridge
from campaignbridge.bridge import Bridge
from campaignbridge.domain.actor import Actor, with_all_rights
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.authoring import NewCampaign
from campaignbridge.flows.delivery import Confirmation
from campaignbridge.settings import Settings

__all__ = [
    "Actor",
    "Bridge",
    "Confirmation",
    "NewCampaign",
    "Refusal",
    "Settings",
    "open_bridge",
    "with_all_rights",
]
