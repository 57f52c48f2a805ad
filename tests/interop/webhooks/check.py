"""Signs a delivery, or verifies a notification, with the reference library of Standard Webhooks.

The input is JSON on stdin: `{"key", "id", "timestamp", "signature", "body"}`. `sign` prints the
signature, and `verify` the parsed body; a signature that is not valid is an exception."""

import datetime
import json
import sys

from standardwebhooks.webhooks import Webhook

given = json.load(sys.stdin)
webhook = Webhook(given["key"])
if sys.argv[1] == "sign":
    sent = datetime.datetime.fromtimestamp(given["timestamp"], datetime.timezone.utc)
    print(webhook.sign(given["id"], sent, given["body"]))
else:
    headers = {
        "webhook-id": given["id"],
        "webhook-timestamp": given["timestamp"],
        "webhook-signature": given["signature"],
    }
    print(json.dumps(webhook.verify(given["body"], headers)))
