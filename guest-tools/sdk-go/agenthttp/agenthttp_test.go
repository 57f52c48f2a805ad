package agenthttp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestDo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+string(body))
	}))
	defer server.Close()
	follow := &http.Client{Transport: Transport{}}
	cases := []struct {
		send   func(*http.Request) (*http.Response, error)
		path   string
		status int
		body   string
	}{
		{Do, "/old", http.StatusFound, "<a href=\"/new\">Found</a>.\n\n"},
		{follow.Do, "/old", http.StatusOK, "GET "},
		{Do, "/new", http.StatusOK, "GET "},
	}
	for _, c := range cases {
		request, err := http.NewRequest(http.MethodGet, server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.send(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != c.status || string(body) != c.body {
			t.Errorf("%s: %d %q %v", c.path, response.StatusCode, body, err)
		}
		_ = response.Body.Close()
	}
}

func TestDoNamesTheRequestWithoutItsQuery(t *testing.T) {
	request, err := http.NewRequest(http.MethodPost, "http://user:word@127.0.0.1:1/path?key=value#part", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Do(request)
	var failed *url.Error
	if !errors.As(err, &failed) || failed.Op != "POST" || failed.URL != "http://127.0.0.1:1/path" {
		t.Errorf("%v", err)
	}
}

func TestErrorsHaveATextAndAKind(t *testing.T) {
	kinds := []Kind{
		Denied, InvalidRequest, RequestTooLarge, ResponseTooLarge, TooManyConnections, UnknownHost,
		Unreachable, TLS, Timeout, Interrupted, Protocol,
	}
	if len(kinds) != len(texts) {
		t.Errorf("%d kinds and %d texts", len(kinds), len(texts))
	}
	for _, kind := range kinds {
		err := &Error{Kind: kind}
		if err.Error() == "" || err.Error() != texts[kind] || err.Timeout() != (kind == Timeout) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if told := (&Error{Protocol, "loop"}).Error(); told != "the server's answer is not understood (loop)" {
		t.Error(told)
	}
}
