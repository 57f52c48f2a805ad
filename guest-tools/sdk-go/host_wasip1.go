package agenttool

import "encoding/binary"

// The imports, by the canonical ABI. The linker drops those that no tool calls: the rest are the
// component's permission requests.

//go:wasmimport agent:tool/progress@0.1.0 report
func hostReport(message, length, hasFraction uint32, fraction float64)

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
	at, length := give(message)
	if fraction == nil {
		hostReport(at, length, 0, 0)
	} else {
		hostReport(at, length, 1, *fraction)
	}
}

func ask(question Question) Answer {
	prompt, promptLength := give(question.Prompt)
	var choices []uint32
	for _, choice := range question.Choices {
		at, length := give(choice)
		choices = append(choices, at, length)
	}
	// The variant `answer`: its case, then a text, an index, or a list of indexes.
	result := buffer(3)
	hostAsk(
		prompt, promptLength, giveWords(choices), uint32(len(question.Choices)),
		flag(question.FreeText), flag(question.Multiple), address(&result[0]),
	)
	switch result[0] & 0xff {
	case 0:
		return Answer{Kind: AnswerText, Text: take(result[1], result[2])}
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
	words := []byte(take(at, 4*count))
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
	promptAt, promptLength := give(prompt)
	schemaAt, schemaLength := give(schema)
	// The variant `form-answer`: its case, then a text.
	result := buffer(3)
	hostAskForm(promptAt, promptLength, schemaAt, schemaLength, address(&result[0]))
	switch result[0] & 0xff {
	case 0:
		return FormFields, take(result[1], result[2])
	case 1:
		return FormCancelled, ""
	default:
		return FormUnavailable, ""
	}
}

func state() []byte {
	result := buffer(2)
	hostState(address(&result[0]))
	return []byte(take(result[0], result[1]))
}

func merge(delta string) {
	hostMerge(give(delta))
}

func context() []byte {
	result := buffer(2)
	hostContext(address(&result[0]))
	return []byte(take(result[0], result[1]))
}

func halt(message string) {
	hostHalt(give(message))
}
