// The tools of my-tool. Each is a function, and the type of its input is what the host checks every
// call against.
package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"unicode/utf8"

	"agenttool"
)

// side is the width and the height of a swatch, in pixels.
const side = 64

func init() {
	agenttool.Register(agenttool.Tool{
		Name:        "greet",
		Description: "Greets a user by name.",
		Effect:      agenttool.ReadOnly,
	}, greet)
	agenttool.Register(agenttool.Tool{
		Name:        "count_words",
		Description: "Counts the words and the characters of a text. Words are separated by white space.",
		Effect:      agenttool.ReadOnly,
	}, countWords)
	agenttool.Register(agenttool.Tool{
		Name:        "swatch",
		Description: "Shows a colour as a small image.",
		Effect:      agenttool.ReadOnly,
	}, swatch)
	agenttool.Register(agenttool.Tool{
		Name:        "keep_note",
		Description: "Keeps a note for the rest of the session. A note with the same title is replaced.",
		Effect:      agenttool.Idempotent,
	}, keepNote)
}

type user struct {
	Name string `json:"name" description:"The name of the user to greet."`
	Tone string `json:"tone" description:"The tone of the greeting." enum:"friendly,formal" default:"friendly"`
}

func greet(_ *agenttool.Call, in user) (string, error) {
	if in.Tone == "formal" {
		return fmt.Sprintf("Good day, %s.", in.Name), nil
	}
	return fmt.Sprintf("Hello, %s!", in.Name), nil
}

type text struct {
	Text string `json:"text" description:"The text to count in."`
}

type counts struct {
	Words      int `json:"words" description:"The number of words."`
	Characters int `json:"characters" description:"The number of characters."`
}

func countWords(_ *agenttool.Call, in text) (counts, error) {
	return counts{Words: len(strings.Fields(in.Text)), Characters: utf8.RuneCountInString(in.Text)}, nil
}

type colour struct {
	Colour string `json:"colour" description:"The colour, as #rrggbb."`
}

func swatch(_ *agenttool.Call, in colour) (agenttool.Result, error) {
	rgb, ok := parse(in.Colour)
	if !ok {
		return agenttool.Errorf("`%s` is no colour; write it as #rrggbb, such as #1e90ff", in.Colour), nil
	}
	swatch := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{rgb})
	var out bytes.Buffer
	if err := png.Encode(&out, swatch); err != nil {
		return agenttool.Result{}, err
	}
	return agenttool.Image("image/png", out.Bytes()), nil
}

// parse reads `#rrggbb`.
func parse(s string) (color.RGBA, bool) {
	digits, ok := strings.CutPrefix(s, "#")
	rgb, err := hex.DecodeString(digits)
	if !ok || err != nil || len(rgb) != 3 {
		return color.RGBA{}, false
	}
	return color.RGBA{R: rgb[0], G: rgb[1], B: rgb[2], A: 0xff}, true
}

type note struct {
	Title string `json:"title" description:"The subject of the note."`
	Text  string `json:"text" description:"The note itself."`
}

func keepNote(_ *agenttool.Call, in note) (agenttool.Result, error) {
	delta := map[string]map[string]string{"notes": {in.Title: in.Text}}
	return agenttool.Textf("Kept the note on %s.", in.Title), agenttool.Merge(delta)
}

// A component has no main that runs: the tools are registered by then.
func main() {}
