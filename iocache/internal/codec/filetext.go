package codec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// FileToText writes a file of answers as text: a line for the description of the file, quoted, then
// one for each answer (Entry.AppendText). Nothing is lost on the way: FileFromText makes the same
// file of it, byte for byte. An error of the file is a *FileError, and what precedes the place it
// names has been written.
func FileToText(out io.Writer, in io.Reader) error {
	reader, err := NewReader(bufio.NewReader(in))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, strconv.QuoteToASCII(reader.Description)); err != nil {
		return err
	}
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = out.Write(append(entry.AppendText(nil), '\n'))
		}
		if err != nil {
			return err
		}
	}
}

// FileFromText writes a file of answers from the text that FileToText has made of it. An error
// names the line; what precedes it has been written. Text without any line is an error: a file has
// a description.
func FileFromText(out io.Writer, in io.Reader) error {
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && number > 1 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		data, err := fileLine(number, line)
		if err == nil {
			_, err = out.Write(data)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// fileLine is a line of text as a part of a file: the first is the description.
func fileLine(number int, line string) ([]byte, error) {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if number > 1 {
		entry, err := ParseText(line)
		return AppendEntry(nil, entry), err
	}
	description, err := strconv.Unquote(line)
	if err != nil {
		return nil, errors.New("this is no description: it should be a quoted text")
	}
	return AppendHeader(nil, description), nil
}
