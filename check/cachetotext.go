package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tandem-mc/tandem/iocache"
)

// CacheToText writes the file of an I/O cache as text: a line for the description of the file,
// quoted, then one for each answer.
func CacheToText(out io.Writer, in io.Reader) error {
	reader, err := iocache.NewReader(bufio.NewReader(in))
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

// CacheFromText writes the file of an I/O cache from the text that CacheToText has made of it. An
// error names the line.
func CacheFromText(out io.Writer, in io.Reader) error {
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && number > 1 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		data, err := cacheLine(number, line)
		if err == nil {
			_, err = out.Write(data)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// cacheLine is a line of text as a part of a file: the first is the description.
func cacheLine(number int, line string) ([]byte, error) {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if number > 1 {
		entry, err := iocache.ParseText(line)
		return iocache.AppendEntry(nil, entry), err
	}
	description, err := strconv.Unquote(line)
	if err != nil {
		return nil, errors.New("this is no description: it should be a quoted text")
	}
	return iocache.AppendHeader(nil, description), nil
}
