package main

import (
	"fmt"
	"strings"
	"unicode"
)

// words shows the second text with what is gone as [-gone-] and what is new as {+new+}: the lines
// with a change and those around them; empty where there is no change.
func words(before, after text, options options) string {
	a, b := tokens(before.content), tokens(after.content)
	found := changes(a, b)
	if len(found) == 0 {
		return ""
	}
	var marked strings.Builder
	// The lines of the marked text that have a change: the first and the last of each.
	var changed []change
	line, at := 0, 0
	write := func(s string) {
		marked.WriteString(s)
		line += strings.Count(s, "\n")
	}
	for _, one := range found {
		write(strings.Join(a[at:one.aStart], ""))
		first := line
		if gone := strings.Join(a[one.aStart:one.aEnd], ""); gone != "" {
			write("[-" + gone + "-]")
		}
		if fresh := strings.Join(b[one.bStart:one.bEnd], ""); fresh != "" {
			write("{+" + fresh + "+}")
		}
		changed = append(changed, change{aStart: first, aEnd: line + 1})
		at = one.aEnd
	}
	write(strings.Join(a[at:], ""))
	return excerpt(lines(marked.String()), changed, options.Context)
}

// excerpt are the changed lines with those around them, and where in the text they are.
func excerpt(all []string, changed []change, context int) string {
	var out strings.Builder
	for _, group := range hunks(changed, context) {
		start := max(group[0].aStart-context, 0)
		end := min(group[len(group)-1].aEnd+context, len(all))
		fmt.Fprintf(&out, "@@ %d @@\n", start+1)
		for _, line := range all[start:end] {
			out.WriteString(strings.TrimSuffix(line, "\n"))
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// tokens are the words of a text, its runs of spaces, and every other character alone. Together
// they are the text.
func tokens(content string) []string {
	var found []string
	start, last := 0, none
	for at, r := range content {
		kind := kindOf(r)
		if at > start && (kind != last || kind == none) {
			found = append(found, content[start:at])
			start = at
		}
		last = kind
	}
	if start < len(content) {
		found = append(found, content[start:])
	}
	return found
}

// kind is what a character can be in a token with.
type kind int

const (
	none kind = iota
	word
	space
)

func kindOf(r rune) kind {
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
		return word
	case r != '\n' && unicode.IsSpace(r):
		return space
	default:
		return none
	}
}
