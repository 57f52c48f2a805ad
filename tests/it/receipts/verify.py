"""Verifies a file of receipts as docs/reference/receipts.md describes it: python3 verify.py FILE PUBLIC.

Prints `ok RECEIPTS`, or the kind and the line of the first fault. Reads the whole file, for brevity. Needs `openssl`.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def is_signed(key, message, signature):
    with tempfile.TemporaryDirectory() as at:
        for name, data in [("text", message), ("signature", signature)]:
            with open(f"{at}/{name}", "wb") as file:
                file.write(data)
        verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", f"{at}/text", "-sigfile", f"{at}/signature"]
        return subprocess.run(verify, capture_output=True).returncode == 0


def parse(line, key, fingerprint):
    """Returns the number, the digest, the receipt and the contents of a signed line; no number and the fault of another."""
    try:
        value = json.loads(line.decode())
        receipt, contents, signature = value["receipt"], value.get("contents", {}), base64.b64decode(value["signature"])
        known = set(value) <= {"contents", "receipt", "signature"} and type(receipt) is dict and type(contents) is dict
        if not known or canonical(value).encode() != line:
            return None, "changed", {}, {}
        if receipt.get("version") != 1 or receipt.get("key") != fingerprint:
            return None, "wrong-key" if receipt.get("version") == 1 else "unknown-version", {}, {}
        digest = sha256(canonical(receipt).encode())
        is_same = base64.b64encode(signature).decode() == value["signature"]
        if not is_same or not is_signed(key, b"agent-host receipt " + digest.encode(), signature):
            return None, "changed", {}, {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None, "changed", {}, {}
    number = receipt["count"] + 1 if receipt["kind"] == "end" else receipt["number"]
    return number, digest, receipt, contents


def contents_match(receipt, contents):
    commitments = receipt.get("commitments", {})
    for name, content in contents.items():
        if type(content) is not dict or set(content) != {"salt", "text"} or not all(type(part) is str for part in content.values()):
            return False
        if not re.fullmatch("[0-9a-f]{64}", content["salt"]):
            return False
        if commitments.get(name) != sha256((content["salt"] + content["text"]).encode()):
            return False
    return True


def verify(file, key):
    der = subprocess.run(["openssl", "pkey", "-pubin", "-in", key, "-outform", "DER"], capture_output=True, check=True).stdout
    lines = open(file, "rb").read().split(b"\n")
    parsed = [parse(line, key, sha256(der)) for line in (lines[:-1] if lines[-1] == b"" else lines)]

    def fits(found, number, previous):
        return found[0] == number and found[2]["previous"] == (previous or sha256(found[2]["session"].encode()))

    number, previous = 1, None
    for line, found in enumerate(parsed, 1):
        if fits(found, number, previous):
            if not contents_match(found[2], found[3]):
                return f"contents {line}"
            number, previous = number + 1, found[1]
            if found[2]["kind"] == "end":
                return f"ok {number - 2}" if line == len(parsed) else f"inserted {line + 1}"
            continue
        later = next((at for at in range(line, len(parsed)) if fits(parsed[at], number, previous)), None)
        if later is None:
            kind = found[1] if found[0] is None else "dropped" if found[0] > number else "inserted" if found[0] < number else "changed"
        elif found[0] is None or found[0] <= number:
            kind = "inserted"
        else:
            # The receipts that follow in order: a copy was inserted if this one is among them.
            while later < len(parsed) and number < found[0] and fits(parsed[later], number, previous):
                number, previous, later = number + 1, parsed[later][1], later + 1
            kind = "inserted" if later < len(parsed) and fits(parsed[later], found[0], previous) else "reordered"
        return f"{kind} {line}"
    return f"no-end {len(parsed) + 1}"


if __name__ == "__main__":
    print(verify(sys.argv[1], sys.argv[2]))
