package abi

import (
	"strings"
	"unsafe"
)

// taken holds what the host wrote into this instance, by address, so that it is read without
// trusting a pointer.
var taken = map[uint32][]byte{}

// kept holds what was handed to the host. The host reads it after the function that made it has
// returned, and no pointer that Go knows leads to it, so it must not be collected before the
// instance is dropped.
var kept []any

// lent is memory for the next bytes of the host, or nil.
var lent []byte

// early is memory for the adapter from WASI 0.1 to 0.2, which takes two pages of 64 KiB when the
// runtime makes its first call, before there is a heap.
var early [2<<16 + earlyAlign]byte

// earlyAlign is the largest alignment of any type.
const earlyAlign = 16

// earlyUsed is the number of its bytes in use.
var earlyUsed uint32

// started says that there is a heap.
var started bool

func init() {
	started = true
}

// pauseClock tells the adapter to answer with the time that it knows. The garbage collector asks
// for the time, and while the host waits for memory no call may leave the instance.
//
//go:wasmimport wasi_snapshot_preview1 adapter_monotonic_clock_set_paused
func pauseClock(paused bool)

// cabiRealloc is how the host and the adapter get memory for what they pass.
//
//go:wasmexport cabi_realloc
func cabiRealloc(old, oldSize, align, size uint32) uint32 {
	if !started {
		start := Address(&early[0])
		at := (start + earlyUsed + align - 1) &^ (align - 1)
		earlyUsed = at + size - start
		// Running out of it is a fault of this package, and this index ends the instance.
		_ = early[earlyUsed-1]
		return at
	}
	if old == 0 && align == 1 && size <= uint32(len(lent)) && size > 0 {
		return Address(&lent[0])
	}
	pauseClock(true)
	// Words of 64 bits are aligned for every type of the contract.
	words := make([]uint64, uint64(size)/8+1)
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	copy(bytes, taken[old])
	delete(taken, old)
	at := Address(&words[0])
	taken[at] = bytes
	pauseClock(false)
	return at
}

// Take is text that the host passed. It is taken once: the memory is given up.
func Take(at, length uint32) string {
	bytes, known := taken[at]
	if !known || length == 0 {
		return ""
	}
	delete(taken, at)
	return string(bytes[:length])
}

// Lend has the host write the bytes of the next result into this memory, and makes the call that
// returns it. Many large results would otherwise make the garbage collector run while the host waits
// for memory, when nothing may leave the instance: neither its question for the time nor that of the
// scheduler.
func Lend(memory []byte, call func()) {
	lent = memory
	pauseClock(true)
	call()
	pauseClock(false)
	lent = nil
}

// Buffer is memory for a result of `units` units of 32 bits that the host writes.
func Buffer(units int) []uint32 {
	words := make([]uint32, units)
	kept = append(kept, words)
	return words
}

// Address is where a value is, for the host. The value must be on the heap, where nothing
// moves, and live until the host is done with it.
func Address[T any](value *T) uint32 {
	return uint32(uintptr(unsafe.Pointer(value)))
}

// Give is a text as the host takes it: its address and its length. What is not UTF-8 becomes
// U+FFFD.
func Give(s string) (uint32, uint32) {
	return GiveBytes(strings.ToValidUTF8(s, "\uFFFD"))
}

// GiveBytes is Give without a look at the content.
func GiveBytes(s string) (uint32, uint32) {
	bytes := append([]byte(s), 0)
	kept = append(kept, bytes)
	return Address(&bytes[0]), uint32(len(s))
}

// GiveWords is the address of a record or list in the layout of the canonical ABI. Everything in
// the contract that this package writes into memory consists of units of 32 bits: a case or flag of
// one byte is the lowest of its unit, and the rest is padding.
func GiveWords(words []uint32) uint32 {
	words = append(words, 0)
	kept = append(kept, words)
	return Address(&words[0])
}
