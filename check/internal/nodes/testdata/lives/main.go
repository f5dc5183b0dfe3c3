// Command lives counts how often it was started, in a file. It ends with a panic in the life whose
// number it is given, and says what is wrong before.
package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	last, err := strconv.Atoi(os.Args[1])
	check(err)
	path := filepath.Join(os.TempDir(), "lives")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	lives := strings.Fields(string(text))
	now := time.Now()
	for i, line := range lives {
		number, nanoseconds, _ := strings.Cut(line, ":")
		at, err := strconv.ParseInt(nanoseconds, 10, 64)
		check(err)
		if number != strconv.Itoa(i+1) {
			panic("a life was lost: " + string(text))
		}
		if at > now.UnixNano() {
			panic("time goes back")
		}
	}
	if len(lives)+1 == last {
		panic("the last life")
	}
	add(path, strconv.Itoa(len(lives)+1)+":"+strconv.FormatInt(now.UnixNano(), 10)+"\n")
	time.Sleep(time.Second)
}

// add appends a line, and has it be durable, as its name is.
func add(path, line string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = f.WriteString(line)
	check(err)
	check(f.Sync())
	check(f.Close())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
