package main

// maxEdits bounds how many insertions and deletions are looked for: the search takes its square in
// time and in memory, which are 16 MB here. A larger difference is replaced as a whole.
const maxEdits = 2000

// change says that a[aStart:aEnd] is replaced by b[bStart:bEnd]. One of them may be empty, and not
// both.
type change struct {
	aStart, aEnd, bStart, bEnd int
}

// changes are what makes b of a, in order, with at least one equal element between two of them.
// They are the fewest possible insertions and deletions; if there are more than maxEdits of them,
// everything between the common start and the common end is one change.
func changes(a, b []string) []change {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	middleA, middleB := intern(a[start:len(a)-end], b[start:len(b)-end])
	if len(middleA) == 0 && len(middleB) == 0 {
		return nil
	}
	trace := search(middleA, middleB)
	if trace == nil {
		return []change{{start, len(a) - end, start, len(b) - end}}
	}
	found := walkBack(trace, len(middleA), len(middleB))
	for at := range found {
		found[at].aStart += start
		found[at].aEnd += start
		found[at].bStart += start
		found[at].bEnd += start
	}
	return found
}

// intern gives equal elements equal numbers, which compare fast.
func intern(a, b []string) ([]int32, []int32) {
	numbers := map[string]int32{}
	of := func(elements []string) []int32 {
		out := make([]int32, len(elements))
		for at, element := range elements {
			number, known := numbers[element]
			if !known {
				number = int32(len(numbers))
				numbers[element] = number
			}
			out[at] = number
		}
		return out
	}
	return of(a), of(b)
}

// reach is how far into a one gets with a number of edits, for each diagonal from -edits to edits:
// a diagonal is the difference between the places in a and b.
type reach []int32

// on is the entry of a diagonal.
func (r reach) on(diagonal int) int32 {
	return r[diagonal+len(r)/2]
}

// search finds the fewest edits by the algorithm of Myers (1986): with each further edit it gets as
// far as possible on every diagonal. It returns the reach with each number of edits; nil if there
// are more than maxEdits.
func search(a, b []int32) []reach {
	var trace []reach
	for edits := 0; edits <= maxEdits; edits++ {
		now := make(reach, 2*edits+1)
		trace = append(trace, now)
		for diagonal := -edits; diagonal <= edits; diagonal += 2 {
			x := 0
			if edits > 0 {
				x = enter(trace[edits-1], edits, diagonal)
			}
			y := x - diagonal
			for x < len(a) && y < len(b) && y >= 0 && a[x] == b[y] {
				x++
				y++
			}
			now[diagonal+edits] = int32(x)
			if x >= len(a) && y >= len(b) {
				return trace
			}
		}
	}
	return nil
}

// enter is where a diagonal is reached by one more edit: from the diagonal above by an insertion,
// or from the one below by a deletion, whichever gets further.
func enter(before reach, edits, diagonal int) int {
	if inserts(before, edits, diagonal) {
		return int(before.on(diagonal + 1))
	}
	return int(before.on(diagonal-1)) + 1
}

// inserts says whether the diagonal is reached by an insertion.
func inserts(before reach, edits, diagonal int) bool {
	return diagonal == -edits || diagonal != edits && before.on(diagonal-1) < before.on(diagonal+1)
}

// walkBack follows the edits from the end to the start and joins those that touch.
func walkBack(trace []reach, x, y int) []change {
	var found []change
	for edits := len(trace) - 1; edits > 0; edits-- {
		before, diagonal := trace[edits-1], x-y
		at := enter(before, edits, diagonal)
		edit := change{at - 1, at, at - diagonal, at - diagonal}
		if inserts(before, edits, diagonal) {
			edit = change{at, at, at - diagonal - 1, at - diagonal}
		}
		x, y = edit.aStart, edit.bStart
		if last := len(found) - 1; last >= 0 && found[last].aStart == edit.aEnd && found[last].bStart == edit.bEnd {
			found[last].aStart, found[last].bStart = edit.aStart, edit.bStart
		} else {
			found = append(found, edit)
		}
	}
	for left, right := 0, len(found)-1; left < right; left, right = left+1, right-1 {
		found[left], found[right] = found[right], found[left]
	}
	return found
}
