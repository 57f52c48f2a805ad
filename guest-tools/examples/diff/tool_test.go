package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestChangesAreTheFewest(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want []change
	}{
		{"", "", nil},
		{"abc", "abc", nil},
		{"", "ab", []change{{0, 0, 0, 2}}},
		{"ab", "", []change{{0, 2, 0, 0}}},
		{"abc", "axc", []change{{1, 2, 1, 2}}},
		{"abcd", "bcde", []change{{0, 1, 0, 0}, {4, 4, 3, 4}}},
		{"aab", "ab", []change{{1, 2, 1, 1}}},
	} {
		got := changes(strings.Split(test.a, ""), strings.Split(test.b, ""))
		if !slices.Equal(got, test.want) {
			t.Errorf("changes(%q, %q) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

// lcs is the length of the longest common subsequence, the plain way.
func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		before := 0
		for at, y := range b {
			above := row[at+1]
			if x == y {
				row[at+1] = before + 1
			} else {
				row[at+1] = max(above, row[at])
			}
			before = above
		}
	}
	return row[len(b)]
}

func TestChangesMakeOneOfTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := func() []string {
		out := make([]string, random.IntN(30))
		for at := range out {
			out[at] = string(rune('a' + random.IntN(4)))
		}
		return out
	}
	for range 5000 {
		a, b := letters(), letters()
		found := changes(a, b)
		var made []string
		at, edits := 0, 0
		for _, one := range found {
			made = append(made, a[at:one.aStart]...)
			made = append(made, b[one.bStart:one.bEnd]...)
			at = one.aEnd
			edits += one.aEnd - one.aStart + one.bEnd - one.bStart
		}
		made = append(made, a[at:]...)
		if !slices.Equal(made, b) || edits != len(a)+len(b)-2*lcs(a, b) {
			t.Fatalf("changes(%v, %v) = %v", a, b, found)
		}
	}
}

func TestTextsWithoutCommonPartsAreReplacedAsAWhole(t *testing.T) {
	a, b := slices.Repeat([]string{"a"}, maxEdits), slices.Repeat([]string{"b"}, maxEdits)
	got := changes(append([]string{"x"}, a...), append([]string{"x"}, b...))
	if want := []change{{1, maxEdits + 1, 1, maxEdits + 1}}; !slices.Equal(got, want) {
		t.Errorf("changes = %v, want %v", got, want)
	}
}

func TestTokensAreTheText(t *testing.T) {
	got := tokens("Ein  schöner_Tag, 世界!\n\n\t e\u0301")
	want := []string{"Ein", "  ", "schöner_Tag", ",", " ", "世界", "!", "\n", "\n", "\t ", "e\u0301"}
	if !slices.Equal(got, want) {
		t.Errorf("tokens = %q, want %q", got, want)
	}
}

func TestLongAnswerIsCutAtALine(t *testing.T) {
	line := strings.Repeat("é", 50) + "\n"
	got := bounded(strings.Repeat(line, maxOutput/len(line)+10))
	want := strings.Repeat(line, maxOutput/len(line)) + "[10 more lines are not shown: ask for less context, or compare parts]\n"
	if got != want {
		t.Errorf("bounded ends with %q, want %q", got[len(got)-80:], want[len(want)-80:])
	}
}
