package agenttool

import "agenttool/internal/abi"

// option is an optional text in the layout of the canonical ABI.
func option(s string, some bool) []uint32 {
	if !some {
		return []uint32{0, 0, 0}
	}
	at, length := abi.Give(s)
	return []uint32{1, at, length}
}

// pair is a text in the layout of the canonical ABI.
func pair(s string) []uint32 {
	at, length := abi.Give(s)
	return []uint32{at, length}
}

// definitions lists the tools: the record `tool-definition` for each.
//
//go:wasmexport agent:tool/tool@0.1.0#definitions
func definitions() uint32 {
	var list []uint32
	for _, tool := range tools {
		input, output := tool.schemas()
		list = append(list, pair(tool.Name)...)
		list = append(list, option(tool.Title, tool.Title != "")...)
		list = append(list, pair(tool.Description)...)
		list = append(list, pair(string(input))...)
		list = append(list, option(string(output), output != nil)...)
		list = append(list, uint32(tool.Effect-ReadOnly))
	}
	return abi.GiveWords([]uint32{abi.GiveWords(list), uint32(len(tools))})
}

// call answers one call with the variant `tool-result-output`.
//
//go:wasmexport agent:tool/tool@0.1.0#call
func call(id, idLength, name, nameLength, input, inputLength, key, keyLength uint32) uint32 {
	call := &Call{ID: abi.Take(id, idLength), Name: abi.Take(name, nameLength), IdempotencyKey: abi.Take(key, keyLength)}
	result := answer(call, []byte(abi.Take(input, inputLength)))
	words := []uint32{uint32(result.variant)}
	switch result.variant {
	case text, jsonValue, errorText, errorJSON:
		words = append(words, pair(result.text)...)
	case content:
		words = append(words, lowerParts(result.parts)...)
	case denied:
		words = append(words, option(result.text, result.reason)...)
	}
	return abi.GiveWords(words)
}

// lowerParts is a list of `content-part`: where it is and how long it is.
func lowerParts(parts []Part) []uint32 {
	var list []uint32
	for _, part := range parts {
		if !part.file {
			list = append(list, 0)
			list = append(list, pair(part.content)...)
			// The bytes that a file would take.
			list = append(list, 0, 0, 0, 0, 0, 0)
			continue
		}
		list = append(list, 1)
		list = append(list, pair(part.mediaType)...)
		list = append(list, uint32(part.data))
		if part.data == dataBytes {
			at, length := abi.GiveBytes(part.content)
			list = append(list, at, length)
		} else {
			list = append(list, pair(part.content)...)
		}
		if part.filename == nil {
			list = append(list, option("", false)...)
		} else {
			list = append(list, option(*part.filename, true)...)
		}
	}
	return []uint32{abi.GiveWords(list), uint32(len(parts))}
}
