//go:build !wasip1

package agenthttp

import "net/http"

func roundTrip(request *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(request)
}
