package main

import (
	"image/color"
	"testing"
)

func TestParse(t *testing.T) {
	if got, ok := parse("#1e90ff"); !ok || got != (color.RGBA{R: 0x1e, G: 0x90, B: 0xff, A: 0xff}) {
		t.Errorf("parse(#1e90ff) = %v, %v", got, ok)
	}
	for _, wrong := range []string{"", "#", "1e90ff", "#1e90f", "#1e90fff", "#+e90ff", "#1e90fg"} {
		if got, ok := parse(wrong); ok {
			t.Errorf("parse(%q) = %v, and it is no colour", wrong, got)
		}
	}
}
