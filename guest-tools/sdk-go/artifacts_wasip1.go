package agenttool

import (
	"encoding/binary"

	"agenttool/internal/abi"
)

// The imports of artifacts, by the canonical ABI. Each writes a result: its case in the first byte,
// then the value, or the case of `artifact-error`.

//go:wasmimport agent:tool/artifacts@0.1.0 list
func hostArtifactList(result uint32)

//go:wasmimport agent:tool/artifacts@0.1.0 get
func hostArtifactGet(name, nameLength, result uint32)

//go:wasmimport agent:tool/artifacts@0.1.0 put
func hostArtifactPut(name, nameLength, mediaType, mediaTypeLength, data, dataLength, result uint32)

//go:wasmimport agent:tool/artifacts@0.1.0 delete
func hostArtifactDelete(name, nameLength, result uint32)

// artifactSize is the size of the record `artifact` in bytes: two texts, and a size of 64 bits.
const artifactSize = 24

// failureAt is the error of a result, or nil. A failure without a value is in the byte after the
// case; otherwise it is where the value would be.
func failureAt(result uint32, shift int, failure uint32, name string) error {
	if result&0xff == 0 {
		return nil
	}
	return &ArtifactError{ArtifactFailure(failure >> shift & 0xff), name}
}

func listArtifacts() ([]Artifact, error) {
	result := abi.Buffer(3)
	hostArtifactList(abi.Address(&result[0]))
	if err := failureAt(result[0], 0, result[1], "artifacts"); err != nil {
		return nil, err
	}
	records := []byte(abi.Take(result[1], artifactSize*result[2]))
	listed := []Artifact{}
	for ; len(records) >= artifactSize; records = records[artifactSize:] {
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(records[at:]) }
		listed = append(listed, Artifact{
			Name:      abi.Take(word(0), word(4)),
			MediaType: abi.Take(word(8), word(12)),
			Size:      binary.LittleEndian.Uint64(records[16:]),
		})
	}
	return listed, nil
}

func getArtifact(name string) ([]byte, error) {
	at, length := abi.Give(name)
	result := abi.Buffer(3)
	hostArtifactGet(at, length, abi.Address(&result[0]))
	if err := failureAt(result[0], 0, result[1], name); err != nil {
		return nil, err
	}
	return []byte(abi.Take(result[1], result[2])), nil
}

func putArtifact(name, mediaType string, data []byte) error {
	at, length := abi.Give(name)
	mediaTypeAt, mediaTypeLength := abi.Give(mediaType)
	dataAt, dataLength := abi.GiveBytes(string(data))
	result := abi.Buffer(1)
	hostArtifactPut(at, length, mediaTypeAt, mediaTypeLength, dataAt, dataLength, abi.Address(&result[0]))
	return failureAt(result[0], 8, result[0], name)
}

func deleteArtifact(name string) error {
	at, length := abi.Give(name)
	result := abi.Buffer(1)
	hostArtifactDelete(at, length, abi.Address(&result[0]))
	return failureAt(result[0], 8, result[0], name)
}
