package iocache

import (
	"io"

	"github.com/tandem-mc/tandem/iocache/internal/codec"
)

// NodeID names a place in the tree, a logical checkpoint. It stays valid for as
// long as the cache. The root, where no input has been given yet, is 0.
type NodeID = codec.NodeID

// Root is the place before the first input.
const Root NodeID = 0

// Entry is what Record was given: the place, the input there, and the reaction.
type Entry = codec.Entry

// Reader reads a file of entries.
type Reader = codec.Reader

// FileError says what is wrong with a file of entries.
type FileError = codec.FileError

// NewReader reads the beginning of a file. What is wrong with it is a *FileError;
// other errors are those of reading.
func NewReader(source io.Reader) (*Reader, error) { return codec.NewReader(source) }

// AppendHeader appends the beginning of a file to b. The description says what the
// answers in it are those of; it may be anything.
func AppendHeader(b []byte, description string) []byte { return codec.AppendHeader(b, description) }

// AppendEntry appends an entry to b, as it is in a file. It must take at most 1 GiB.
func AppendEntry(b []byte, e Entry) []byte { return codec.AppendEntry(b, e) }

// HasRecord reports whether a whole entry begins anywhere in data.
func HasRecord(data []byte) bool { return codec.HasRecord(data) }

// ParseText reads a line that Entry.AppendText has written.
func ParseText(line string) (Entry, error) { return codec.ParseText(line) }

// FileToText writes a file of answers as text: a line for the description of the file, quoted, then
// one for each answer. The text of an answer is that of Entry.AppendText.
func FileToText(out io.Writer, in io.Reader) error { return codec.FileToText(out, in) }

// FileFromText writes a file of answers from the text that FileToText has made of it. An error
// names the line.
func FileFromText(out io.Writer, in io.Reader) error { return codec.FileFromText(out, in) }
