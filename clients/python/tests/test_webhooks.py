"""What a webhook sends is taken, and nothing else."""

from typing import Any

import pytest

from keystile import WebhookError, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SENT_AT = 1614265330
BODY = '{"id":"evt_1","type":"key.created","time":1,"sequence":2,"data":{"keyId":"key_1"}}'
SIGNATURE = "v1,cDMugzZ1ydeOyP8RzcZQi67gh6eHiuGohGSHEOT+WSM="
HEADERS = {"Webhook-Id": "evt_1", "webhook-timestamp": str(SENT_AT), "webhook-signature": SIGNATURE}


def verify(**changed: Any) -> dict[str, Any]:
    headers = {**HEADERS, **changed.pop("headers", {})}
    given = {"body": BODY, "secret": SECRET, "now": SENT_AT, **changed}
    return verify_webhook(given.pop("body"), headers, given.pop("secret"), **given)


def test_an_event_of_the_webhook_is_taken_also_during_a_rotation() -> None:
    assert verify()["data"] == {"keyId": "key_1"}
    assert verify(body=BODY.encode())["id"] == "evt_1"
    assert verify(secret=["whsec_AAAA", SECRET])["id"] == "evt_1"
    assert verify(headers={"webhook-signature": f"v1,AAAA v2,x {SIGNATURE}"})["id"] == "evt_1"
    for away in (-300, 300):
        assert verify(now=SENT_AT + away)["id"] == "evt_1"


@pytest.mark.parametrize(
    ("reason", "changed"),
    [
        ("signature", {"body": BODY.replace("created", "deleted")}),
        ("signature", {"secret": "whsec_AAAA"}),
        ("signature", {"headers": {"Webhook-Id": "evt_2"}}),
        ("signature", {"headers": {"webhook-signature": SIGNATURE.replace("v1", "v2")}}),
        ("headers", {"headers": {"webhook-signature": ""}}),
        ("timestamp", {"now": SENT_AT + 301}),
        ("timestamp", {"now": SENT_AT - 301}),
        ("timestamp", {"headers": {"webhook-timestamp": "now"}}),
        # What only a stranger sends, who has no secret: numbers too long for Python, and texts that are no Unicode.
        ("timestamp", {"headers": {"webhook-timestamp": "9" * 400}}),
        ("timestamp", {"headers": {"webhook-timestamp": "9" * 5000}}),
        ("timestamp", {"headers": {"webhook-timestamp": "-1614265330"}}),
        ("timestamp", {"headers": {"webhook-timestamp": "1614265330\n"}}),
        ("timestamp", {"headers": {"webhook-timestamp": "\u0661\u0662"}}),
        ("signature", {"headers": {"webhook-id": "\udcff"}}),
        ("signature", {"headers": {"webhook-signature": "v1,\udcff"}}),
        ("signature", {"headers": {"webhook-signature": "v1,\u00e9 v1,"}}),
        ("signature", {"body": "\udcff"}),
        ("signature", {"body": b"\xff"}),
        ("secret", {"secret": "whsec_\udcff"}),
        ("secret", {"secret": "AAAA"}),
        ("secret", {"secret": "whsec_***"}),
    ],
)
def test_anything_else_is_refused(reason: str, changed: dict[str, Any]) -> None:
    with pytest.raises(WebhookError) as refused:
        verify(**changed)
    assert refused.value.reason == reason
