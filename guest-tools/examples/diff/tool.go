// Differences of texts and files: by line, as unified diff, or by word. The tools only read.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"agenttool"
)

const (
	// maxText is the most bytes of one of the texts.
	maxText = 1 << 20
	// maxOutput is the most bytes of an answer.
	maxOutput = 200_000
)

func init() {
	agenttool.Register(agenttool.Tool{
		Name: "diff_texts",
		Description: "Compares two texts: by line, as unified diff that `patch` reads, or by word, with [-removed-] and {+added+} marked. " +
			"Says `no difference` if there is none.",
		Effect: agenttool.ReadOnly,
	}, diffTexts)
	agenttool.Register(agenttool.Tool{
		Name: "diff_files",
		Description: "Compares two text files: by line, as unified diff that `patch` reads, or by word, with [-removed-] and {+added+} marked. " +
			"Says `no difference` if there is none.",
		Effect: agenttool.ReadOnly,
	}, diffFiles)
}

// options are the arguments that both tools share.
type options struct {
	By          string `json:"by" description:"The unit of comparison." enum:"line,word" default:"line"`
	Context     int    `json:"context" description:"The number of lines to show around a change." minimum:"0" maximum:"1000" default:"3"`
	IgnoreSpace bool   `json:"ignore_space" description:"True to treat lines that differ only in white space as equal; by line." default:"false"`
}

type textsInput struct {
	Before string `json:"before" description:"The old text."`
	After  string `json:"after" description:"The new text."`
	options
}

type filesInput struct {
	Before string `json:"before" description:"The path of the old file."`
	After  string `json:"after" description:"The path of the new file."`
	options
}

// text is one side of a comparison.
type text struct {
	name    string
	content string
}

func diffTexts(_ *agenttool.Call, in textsInput) (string, error) {
	for _, side := range []text{{"before", in.Before}, {"after", in.After}} {
		if len(side.content) > maxText {
			return "", fmt.Errorf("`%s` has %d bytes, and a text may have %d: compare parts of it", side.name, len(side.content), maxText)
		}
	}
	return compare(text{"before", in.Before}, text{"after", in.After}, in.options), nil
}

func diffFiles(_ *agenttool.Call, in filesInput) (string, error) {
	before, err := read(in.Before)
	if err != nil {
		return "", err
	}
	after, err := read(in.After)
	if err != nil {
		return "", err
	}
	return compare(before, after, in.options), nil
}

func compare(before, after text, options options) string {
	by := unified
	if options.By == "word" {
		by = words
	}
	found := by(before, after, options)
	if found == "" {
		return "no difference"
	}
	return bounded(found)
}

// bounded cuts a long answer at a line, and says so.
func bounded(found string) string {
	if len(found) <= maxOutput {
		return found
	}
	cut := strings.ToValidUTF8(found[:maxOutput], "")
	if end := strings.LastIndexByte(cut, '\n'); end >= 0 {
		cut = cut[:end+1]
	}
	left := strings.Count(found[len(cut):], "\n")
	return fmt.Sprintf("%s[%d more lines are not shown: ask for less context, or compare parts]\n", cut, left)
}

// read reads a text file; its error is a text for the model.
func read(path string) (text, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return text{}, fmt.Errorf("there is no file `%s`, or it is not in a directory that is granted; look at the directory first", path)
	// A path outside of every granted directory has no descriptor to start from.
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EBADF):
		return text{}, fmt.Errorf("`%s` may not be read: it is not in a directory that is granted", path)
	case err != nil:
		return text{}, fmt.Errorf("`%s` cannot be read: %w", path, err)
	case info.IsDir():
		return text{}, fmt.Errorf("`%s` is a directory; name a file in it", path)
	case info.Size() > maxText:
		return text{}, fmt.Errorf("`%s` has %d bytes, and a file may have %d", path, info.Size(), maxText)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return text{}, fmt.Errorf("`%s` cannot be read: %w", path, err)
	}
	if !utf8.Valid(content) {
		return text{}, fmt.Errorf("`%s` is not UTF-8 text", path)
	}
	return text{path, string(content)}, nil
}

// A component has no main that runs: the tools are registered by then.
func main() {}
