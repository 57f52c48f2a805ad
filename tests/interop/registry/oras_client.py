"""Pushes and pulls artifacts with the `oras` package.

pull HOST/NAME:TAG DIRECTORY
push HOST/NAME:TAG CONFIG:TYPE FILE:TYPE...
"""

import sys

import oras.client

command, target, *rest = sys.argv[1:]
client = oras.client.OrasClient(insecure=True)
if command == "pull":
    for path in client.pull(target=target, outdir=rest[0]):
        print(path)
else:
    config, *files = rest
    answer = client.push(
        target=target, manifest_config=config, files=files, disable_path_validation=True
    )
    print(answer.status_code)
