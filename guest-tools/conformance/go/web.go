package main

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"agenttool"
	"agenttool/agenthttp"
)

// blockBytes is the size of a block of a streamed body; a byte says in which block it is.
const blockBytes = 4096

type httpInput struct {
	Method string   `json:"method" description:"The method."`
	URL    string   `json:"url" description:"The URL."`
	Name   string   `json:"name" description:"The name of header fields." default:""`
	Values []string `json:"values" description:"Their values." default:"[]"`
	Body   *string  `json:"body" description:"The body."`
}

type httpOutput struct {
	Status int     `json:"status"`
	Answer *string `json:"answer"`
	Body   string  `json:"body"`
}

func sendHTTP(_ *agenttool.Call, in httpInput) (httpOutput, error) {
	var body io.Reader
	if in.Body != nil {
		body = strings.NewReader(*in.Body)
	}
	request, err := http.NewRequest(in.Method, in.URL, body)
	if err != nil {
		return httpOutput{}, err
	}
	for _, value := range in.Values {
		request.Header.Add(in.Name, value)
	}
	response, err := agenthttp.Do(request)
	if err != nil {
		return httpOutput{}, kindOf(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	return httpOutput{response.StatusCode, answerOf(response), string(got)}, kindOf(err)
}

type streamInput struct {
	URL   string `json:"url" description:"The URL."`
	Size  int64  `json:"size" description:"The size of a body to send, in bytes." minimum:"0" default:"0"`
	Whole bool   `json:"whole" description:"True if the response is to be held as a whole." default:"false"`
}

type streamOutput struct {
	Bytes  int64   `json:"bytes"`
	Sum    int64   `json:"sum"`
	Answer *string `json:"answer"`
}

// streamHTTP goes through an http.Client, as packages do.
func streamHTTP(_ *agenttool.Call, in streamInput) (streamOutput, error) {
	client := &http.Client{Transport: agenthttp.Transport{}}
	method, body := http.MethodGet, io.Reader(nil)
	if in.Size > 0 {
		method, body = http.MethodPost, io.LimitReader(&pattern{}, in.Size)
	}
	request, err := http.NewRequest(method, in.URL, body)
	if err != nil {
		return streamOutput{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return streamOutput{}, kindOf(err)
	}
	defer response.Body.Close()
	var from io.Reader = response.Body
	if in.Whole {
		held, err := io.ReadAll(response.Body)
		if err != nil {
			return streamOutput{}, kindOf(err)
		}
		from = strings.NewReader(string(held))
	}
	var measured meter
	_, err = io.Copy(&measured, from)
	return streamOutput{measured.bytes, measured.sum, answerOf(response)}, kindOf(err)
}

// answerOf joins the values of the field x-answer.
func answerOf(response *http.Response) *string {
	values := response.Header.Values("x-answer")
	if values == nil {
		return nil
	}
	joined := strings.Join(values, ", ")
	return &joined
}

// kindOf is an error whose text is the kind of a failure.
func kindOf(err error) error {
	var failed *agenthttp.Error
	if errors.As(err, &failed) {
		return errors.New(string(failed.Kind))
	}
	return err
}

// pattern is an endless body.
type pattern struct {
	at int64
}

func (p *pattern) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = byte(p.at / blockBytes % 251)
		p.at++
	}
	return len(into), nil
}

// meter has the size of a body, and the sum of the first bytes of its blocks, each times its number.
type meter struct {
	bytes, sum int64
}

func (m *meter) Write(piece []byte) (int, error) {
	for at := (blockBytes - m.bytes%blockBytes) % blockBytes; at < int64(len(piece)); at += blockBytes {
		m.sum += int64(piece[at]) * ((m.bytes+at)/blockBytes + 1)
	}
	m.bytes += int64(len(piece))
	return len(piece), nil
}
