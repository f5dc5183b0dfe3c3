package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/iocache"
)

func cacheCommand() *cobra.Command {
	fromText := false
	c := &cobra.Command{
		Use:   "cache FILE",
		Short: "Show what peers have answered: the file of an I/O cache as text",
		Long: "Shows the file of an I/O cache, such as that of a saved run, as text: the description of the file, then\n" +
			"a line for each answer, with the place in the cache, the input, and what the peers did. With --from-text it\n" +
			"is the other way round: FILE is such a text, and the output the file of a cache.",
		Example: "  tandem cache ~/.local/state/tandem/runs/client-20260102-150405-4711/cache",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			convert := cacheToText
			if fromText {
				convert = cacheFromText
			}
			out := bufio.NewWriter(c.OutOrStdout())
			if err := errors.Join(convert(out, bufio.NewReader(in)), out.Flush()); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fromText, "from-text", false, "make the file of a cache of its text")
	return c
}

func cacheToText(out io.Writer, in *bufio.Reader) error {
	reader, err := iocache.NewReader(in)
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

func cacheFromText(out io.Writer, in *bufio.Reader) error {
	for number := 1; ; number++ {
		line, err := in.ReadString('\n')
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
