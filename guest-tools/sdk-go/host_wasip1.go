package agenttool

import (
	"encoding/binary"

	"agenttool/internal/abi"
)

// The imports, by the canonical ABI. The linker drops those that no tool calls: the rest are the
// component's permission requests.

//go:wasmimport agent:tool/progress@0.1.0 report
func hostReport(message, length, hasFraction uint32, fraction float64)

//go:wasmimport agent:tool/partial@0.1.0 text
func hostPartialText(text, length uint32) uint32

//go:wasmimport agent:tool/partial@0.1.0 file
func hostPartialFile(mediaType, mediaTypeLength, hasFilename, filename, filenameLength uint32) uint32

//go:wasmimport agent:tool/partial@0.1.0 bytes
func hostPartialBytes(data, length uint32) uint32

//go:wasmimport agent:tool/state@0.1.0 get
func hostState(result uint32)

//go:wasmimport agent:tool/state@0.1.0 merge
func hostMerge(delta, length uint32)

//go:wasmimport agent:tool/context@0.1.0 get
func hostContext(result uint32)

//go:wasmimport agent:tool/control@0.1.0 halt
func hostHalt(message, length uint32)

//go:wasmimport agent:tool/human@0.1.0 ask
func hostAsk(prompt, promptLength, choices, choiceCount, freeText, multiple, result uint32)

//go:wasmimport agent:tool/human@0.1.0 ask-form
func hostAskForm(prompt, promptLength, schema, schemaLength, result uint32)

func report(message string, fraction *float64) {
	at, length := abi.Give(message)
	if fraction == nil {
		hostReport(at, length, 0, 0)
	} else {
		hostReport(at, length, 1, *fraction)
	}
}

func partialText(text string) bool {
	return hostPartialText(abi.Give(text)) != 0
}

func partialFile(mediaType, filename string) bool {
	typeAt, typeLength := abi.Give(mediaType)
	nameAt, nameLength := abi.Give(filename)
	return hostPartialFile(typeAt, typeLength, flag(filename != ""), nameAt, nameLength) != 0
}

func partialBytes(data []byte) bool {
	return hostPartialBytes(abi.Give(string(data))) != 0
}

func ask(question Question) Answer {
	prompt, promptLength := abi.Give(question.Prompt)
	var choices []uint32
	for _, choice := range question.Choices {
		at, length := abi.Give(choice)
		choices = append(choices, at, length)
	}
	// The variant `answer`: its case, then a text, an index, or a list of indexes.
	result := abi.Buffer(3)
	hostAsk(
		prompt, promptLength, abi.GiveWords(choices), uint32(len(question.Choices)),
		flag(question.FreeText), flag(question.Multiple), abi.Address(&result[0]),
	)
	switch result[0] & 0xff {
	case 0:
		return Answer{Kind: AnswerText, Text: abi.Take(result[1], result[2])}
	case 1:
		return Answer{Kind: AnswerChoice, Choice: int(result[1])}
	case 2:
		return Answer{Kind: AnswerChoices, Choices: takeIndexes(result[1], result[2])}
	case 3:
		return Answer{Kind: AnswerCancelled}
	default:
		return Answer{Kind: AnswerUnavailable}
	}
}

// takeIndexes is a list of u32 that the host passed.
func takeIndexes(at, count uint32) []int {
	words := []byte(abi.Take(at, 4*count))
	indexes := []int{}
	for ; len(words) >= 4; words = words[4:] {
		indexes = append(indexes, int(binary.LittleEndian.Uint32(words)))
	}
	return indexes
}

// flag is a bool in the layout of the canonical ABI.
func flag(holds bool) uint32 {
	if holds {
		return 1
	}
	return 0
}

func askForm(prompt, schema string) (FormAnswerKind, string) {
	promptAt, promptLength := abi.Give(prompt)
	schemaAt, schemaLength := abi.Give(schema)
	// The variant `form-answer`: its case, then a text.
	result := abi.Buffer(3)
	hostAskForm(promptAt, promptLength, schemaAt, schemaLength, abi.Address(&result[0]))
	switch result[0] & 0xff {
	case 0:
		return FormFields, abi.Take(result[1], result[2])
	case 1:
		return FormCancelled, ""
	default:
		return FormUnavailable, ""
	}
}

func state() []byte {
	result := abi.Buffer(2)
	hostState(abi.Address(&result[0]))
	return []byte(abi.Take(result[0], result[1]))
}

func merge(delta string) {
	hostMerge(abi.Give(delta))
}

func context() []byte {
	result := abi.Buffer(2)
	hostContext(abi.Address(&result[0]))
	return []byte(abi.Take(result[0], result[1]))
}

func halt(message string) {
	hostHalt(abi.Give(message))
}
