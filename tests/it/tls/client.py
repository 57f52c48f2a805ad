"""Reads a path of an HTTPS server: ADDRESS PATH TOKEN AUTHORITY. Prints the status."""
import ssl, sys, urllib.request

address, path, token, authority = sys.argv[1:]
request = urllib.request.Request(f"https://{address}{path}")
request.add_header("authorization", f"Bearer {token}")
context = ssl.create_default_context(cafile=authority)
print(urllib.request.urlopen(request, context=context).status)
