package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/check"
)

// cacheCommand is tandem cache, which converts the file of an I/O cache to text and back. What was
// converted before an error is written, so that the beginning of a damaged file can be read.
func cacheCommand() *cobra.Command {
	fromText := false
	c := &cobra.Command{
		Use:   "cache FILE",
		Short: "Show the answers of peers, from the file of an I/O cache",
		Long: `Shows the file of an I/O cache, such as that of a saved run, as text. The first line
describes the file. Then there is a line for each answer: its place in the cache, the input,
and what the peers did. With --from-text, FILE is such a text, and the output is the file of
a cache.`,
		Example: "  tandem cache ~/.local/state/tandem/runs/client-20260102-150405-4711/cache\n" +
			"  tandem cache --from-text answers.txt >answers",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			// The text may be large, so it is converted while it is read.
			in, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			// Both directions have the same form.
			convert := check.CacheToText
			if fromText {
				convert = check.CacheFromText
			}
			// The standard output has no buffer of its own.
			out := bufio.NewWriter(c.OutOrStdout())
			if err := errors.Join(convert(out, in), out.Flush()); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fromText, "from-text", false, "make the file of a cache from its text")
	return c
}
