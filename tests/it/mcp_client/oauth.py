#!/usr/bin/env python3
"""An MCP server over HTTP that wants a login, and its authorization server, for the tests of the client. Prints its address.
The argument selects what is unusual: `other-issuer` in its redirection,
`no-pkce` and `plain-pkce` in its metadata."""

import base64
import hashlib
import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlparse

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else ""
CLIENTS, CODES, TOKENS, REFRESHES = {}, {}, {}, {}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def reply(self, status, value=None, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlparse(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        match url.path:
            case "/.well-known/oauth-protected-resource/mcp":
                self.reply(200, {"resource": f"{BASE}/mcp", "authorization_servers": [BASE]})
            case "/.well-known/oauth-authorization-server":
                pkce = {"no-pkce": {}, "plain-pkce": {"code_challenge_methods_supported": ["plain"]}}
                self.reply(200, {
                    "issuer": BASE, "authorization_endpoint": f"{BASE}/authorize", "token_endpoint": f"{BASE}/token",
                    "registration_endpoint": f"{BASE}/register", "response_types_supported": ["code"],
                    **pkce.get(BEHAVIOUR, {"code_challenge_methods_supported": ["S256"]}),
                    "authorization_response_iss_parameter_supported": True,
                })
            case "/authorize":
                assert query["redirect_uri"] in CLIENTS[query["client_id"]], query
                assert query["resource"] == f"{BASE}/mcp", query
                code = secrets.token_hex(8)
                CODES[code] = query
                issuer = "https://evil.example" if BEHAVIOUR == "other-issuer" else BASE
                back = urlencode({"code": code, "state": query["state"], "iss": issuer})
                self.reply(302, location=f"{query['redirect_uri']}?{back}")
            case _:
                self.reply(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        match self.path:
            case "/register":
                client = secrets.token_hex(8)
                CLIENTS[client] = json.loads(body)["redirect_uris"]
                self.reply(201, {"client_id": client, "redirect_uris": CLIENTS[client]})
            case "/token":
                self.token({name: values[0] for name, values in parse_qs(body).items()})
            case "/mcp":
                self.mcp(json.loads(body))
            case _:
                self.reply(404)

    def token(self, asked):
        assert asked["resource"] == f"{BASE}/mcp", asked
        if asked["grant_type"] == "refresh_token":
            scope = REFRESHES.pop(asked["refresh_token"])
            lifetime = 3600
        else:
            code = CODES.pop(asked["code"])
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == code["code_challenge"], asked
            scope = code.get("scope", "")
            # So short that it is refreshed before it is used.
            lifetime = 1
        token, refresh = "tok-" + secrets.token_hex(16), "ref-" + secrets.token_hex(16)
        # The first token is good for nothing, so that only a refreshed one works.
        if asked["grant_type"] == "refresh_token":
            TOKENS[token] = scope
        REFRESHES[refresh] = scope
        self.reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": lifetime,
                         "refresh_token": refresh, "scope": scope})

    def mcp(self, message):
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        metadata = f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
        if token not in TOKENS:
            return self.reply(401, www_authenticate=f'Bearer scope="read", {metadata}')
        if "id" not in message:
            return self.reply(202)
        match message["method"]:
            case "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "oauth", "version": "1"}}
            case "tools/list":
                result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("see", "act")]}
            case "tools/call" if message["params"]["name"] == "act" and "write" not in TOKENS[token].split():
                return self.reply(403, www_authenticate=f'Bearer error="insufficient_scope", scope="write", {metadata}')
            case "tools/call":
                result = {"content": [{"type": "text", "text": f"with {TOKENS[token]} and {token}"}]}
            case _:
                return self.reply(200, {"jsonrpc": "2.0", "id": message["id"],
                                        "error": {"code": -32601, "message": "unknown"}})
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
BASE = f"http://127.0.0.1:{server.server_port}"
print(BASE, flush=True)
server.serve_forever()
