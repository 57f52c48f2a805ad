"""HTTP requests, as the host's stand-in records and answers them."""

import unittest

from agent_tool import Output, ToolError, http, testing, tool
from agent_tool._http import Request
from agent_tool._tool import TOOLS
from agent_tool.testing import Reply


class Http(unittest.TestCase):
    def setUp(self):
        TOOLS.clear()
        testing.prepare()

    def test_request_is_sent_as_written(self):
        pieces = (piece for piece in [b"one", b"", b"two"])
        cases = [
            (
                ("get", "http://a.example"),
                Request("GET", "http", "a.example", "/"),
            ),
            (
                ("PURGE", "https://a.example:444/ü b?q=a b&c=%20#part", {"X-A": "1"}, b""),
                Request(
                    *("PURGE", "https", "a.example:444", "/%C3%BC%20b?q=a%20b&c=%20"),
                    headers=(("X-A", "1"),),
                    body=b"",
                ),
            ),
            (
                ("POST", "http://[::1]:80/?k=secret://key", [("a", "1"), ("a", "2")], "ü", 2),
                Request(
                    *("POST", "http", "[::1]:80", "/?k=secret://key"),
                    headers=(("a", "1"), ("a", "2")),
                    body="ü".encode(),
                    timeout=2,
                ),
            ),
            (
                ("PUT", "http://a.example/?", (), pieces),
                Request("PUT", "http", "a.example", "/", body=b"onetwo"),
            ),
        ]
        for arguments, sent in cases:
            with self.subTest(sent=sent):
                testing.prepare(replies=[Reply(204)])
                response = http.request(*arguments)
                self.assertEqual((response.status, response.url), (204, arguments[1]))
                self.assertEqual(testing.recorded().requests, [sent])

    def test_malformed_url_is_an_error_and_is_not_sent(self):
        why = "the URL does not begin with http:// or https:// and a host"
        cases = [
            ("ftp://a.example/", why),
            ("a.example", why),
            ("http:///path", why),
            ("http://a.example:x/", "Port could not be cast to integer value as 'x'"),
            ("http://[::1/", "Invalid IPv6 URL"),
        ]
        for url, detail in cases:
            with self.subTest(url=url):
                with self.assertRaises(http.HttpError) as raised:
                    http.request("GET", url)
                self.assertEqual(raised.exception.kind, "invalid-request")
                self.assertEqual(
                    str(raised.exception), f"GET {url}: the request is malformed ({detail})"
                )
        self.assertEqual(testing.recorded().requests, [])

    def test_headers_are_found_in_any_case_and_kept_in_order(self):
        headers = http.Headers([("Set-Cookie", "a=1"), ("x", "1"), ("set-cookie", "b=2")])
        self.assertEqual(headers.get_all("SET-COOKIE"), ["a=1", "b=2"])
        self.assertEqual(
            (headers["set-cookie"], headers.get("X"), headers.get("y"), headers.get("y", "none")),
            ("a=1, b=2", "1", None, "none"),
        )
        self.assertEqual(("X" in headers, "y" in headers, 7 in headers), (True, False, False))
        self.assertEqual(
            (list(headers), len(headers)),
            ([("Set-Cookie", "a=1"), ("x", "1"), ("set-cookie", "b=2")], 3),
        )
        with self.assertRaises(KeyError):
            headers["y"]

    def test_body_is_read_in_pieces(self):
        testing.prepare(replies=[Reply(body=b"x" * 70000), Reply(body=b"abcde"), Reply()])
        self.assertEqual([len(piece) for piece in self._get()], [65536, 4464])
        with self._get() as response:
            self.assertEqual(
                [response.read(2), response.read(0), response.read(9), response.read(9)],
                [b"ab", b"", b"cde", b""],
            )
        self.assertEqual(self._get().content(), b"")

    def test_body_is_text_and_json(self):
        cases = [
            ("text/plain", "ü".encode(), "ü"),
            ("text/plain; charset=ISO-8859-1", b"\xfc", "ü"),
            ('text/plain; Charset="latin1"; x=y', b"\xfc", "ü"),
            ("text/plain; charset=no-such", "ü".encode(), "ü"),
            ("text/plain; charset=utf-8", b"\xfc!", "\ufffd!"),
        ]
        for media_type, body, text in cases:
            with self.subTest(media_type=media_type):
                testing.prepare(replies=[Reply(headers=[("Content-Type", media_type)], body=body)])
                self.assertEqual(self._get().text(), text)
        testing.prepare(replies=[Reply(body=b'{"a": [1, "\xc3\xbc"]}'), Reply(body=b"<html>")])
        self.assertEqual(self._get().json(), {"a": [1, "ü"]})
        with self.assertRaises(http.HttpError) as raised:
            self._get().json()
        self.assertEqual(raised.exception.kind, "protocol")

    def test_body_beyond_the_bound_is_an_error(self):
        for read in ["content", "text", "json"]:
            with self.subTest(read=read):
                testing.prepare(replies=[Reply(body=b"12345"), Reply(body=b"12345")])
                self.assertIn(getattr(self._get(), read)(5), [b"12345", "12345", 12345])
                with self.assertRaises(http.HttpError) as raised:
                    getattr(self._get(), read)(4)
                self.assertEqual(
                    (raised.exception.kind, str(raised.exception)),
                    (
                        "response-too-large",
                        "GET http://a.example/p: the response is larger than allowed (its body has more "
                        "than 4 bytes)",
                    ),
                )

    def test_uncaught_failure_is_read_by_the_model(self):
        @tool(effect="read-only")
        def read() -> str:
            """Reads."""
            return self._get().text()

        testing.prepare(replies=["timeout"])
        self.assertEqual(
            testing.call("read"),
            Output(
                "error-text",
                "GET http://a.example/p: the server did not answer in time; try again later",
            ),
        )
        with self.assertRaises(ToolError) as raised:
            self._get()
        self.assertEqual(raised.exception.kind, "denied")

    def _get(self) -> http.Response:
        return http.request("GET", "http://a.example/p?q")
