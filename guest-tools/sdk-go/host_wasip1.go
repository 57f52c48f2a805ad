package agenttool

// The imports, by the canonical ABI. The linker drops those that no tool calls: the rest are the
// component's permission requests.

//go:wasmimport agent:tool/progress@0.1.0 report
func hostReport(message, length, hasFraction uint32, fraction float64)

//go:wasmimport agent:tool/state@0.1.0 get
func hostState(result uint32)

//go:wasmimport agent:tool/state@0.1.0 merge
func hostMerge(delta, length uint32)

//go:wasmimport agent:tool/human@0.1.0 ask
func hostAsk(prompt, promptLength, choices, choiceCount, freeText, result uint32)

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
	var freeText uint32
	if question.FreeText {
		freeText = 1
	}
	// The variant `answer`: its case, then a text or an index.
	result := buffer(3)
	hostAsk(prompt, promptLength, giveWords(choices), uint32(len(question.Choices)), freeText, address(&result[0]))
	switch result[0] & 0xff {
	case 0:
		return Answer{Kind: AnswerText, Text: take(result[1], result[2])}
	case 1:
		return Answer{Kind: AnswerChoice, Choice: int(result[1])}
	case 2:
		return Answer{Kind: AnswerCancelled}
	default:
		return Answer{Kind: AnswerUnavailable}
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
