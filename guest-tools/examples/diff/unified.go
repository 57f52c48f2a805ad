package main

import (
	"fmt"
	"strings"
)

// unified is the difference of two texts as unified diff, which `patch` reads; empty where there is
// none.
func unified(before, after text, options options) string {
	a, b := lines(before.content), lines(after.content)
	found := changes(keys(a, options), keys(b, options))
	if len(found) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", before.name, after.name)
	for _, hunk := range hunks(found, options.Context) {
		writeHunk(&out, a, b, hunk, options.Context)
	}
	return out.String()
}

// lines are the lines of a text, each with its line feed; the last one may have none.
func lines(content string) []string {
	all := strings.SplitAfter(content, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// keys are what lines are compared by.
func keys(lines []string, options options) []string {
	if !options.IgnoreSpace {
		return lines
	}
	keys := make([]string, len(lines))
	for at, line := range lines {
		keys[at] = strings.Join(strings.Fields(line), " ")
	}
	return keys
}

// hunks are the changes in groups: those that share lines of context are shown together.
func hunks(found []change, context int) [][]change {
	var groups [][]change
	for at, one := range found {
		if at > 0 && one.aStart-found[at-1].aEnd <= 2*context {
			last := len(groups) - 1
			groups[last] = append(groups[last], one)
		} else {
			groups = append(groups, []change{one})
		}
	}
	return groups
}

func writeHunk(out *strings.Builder, a, b []string, hunk []change, context int) {
	first, last := hunk[0], hunk[len(hunk)-1]
	lead := min(context, first.aStart, first.bStart)
	trail := min(context, len(a)-last.aEnd, len(b)-last.bEnd)
	aStart, aEnd, bStart, bEnd := first.aStart-lead, last.aEnd+trail, first.bStart-lead, last.bEnd+trail
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(aStart, aEnd), span(bStart, bEnd))
	at := aStart
	for _, one := range hunk {
		writeLines(out, ' ', a[at:one.aStart])
		writeLines(out, '-', a[one.aStart:one.aEnd])
		writeLines(out, '+', b[one.bStart:one.bEnd])
		at = one.aEnd
	}
	writeLines(out, ' ', a[at:aEnd])
}

// span is a range of lines in the header of a hunk: they count from 1, and an empty range has the
// line before it.
func span(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	default:
		return fmt.Sprintf("%d,%d", start+1, end-start)
	}
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
