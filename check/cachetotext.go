package check

import (
	"io"

	"github.com/tandem-mc/tandem/iocache"
)

// CacheToText writes the file of an I/O cache as text: its description, then each answer in a line.
func CacheToText(out io.Writer, in io.Reader) error { return iocache.FileToText(out, in) }

// CacheFromText writes the file from the text that CacheToText has made. An error names the line.
func CacheFromText(out io.Writer, in io.Reader) error { return iocache.FileFromText(out, in) }
