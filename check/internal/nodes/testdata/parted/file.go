package main

import (
	"os"
	"path/filepath"
)

var path = filepath.Join(os.TempDir(), "letters")

// add adds letters to the file.
func add(letters string) {
	f := must(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	must(f.WriteString(letters))
	f.Close()
}

// durable makes the file durable, if there is one.
func durable() {
	if f, err := os.Open(path); err == nil {
		must(0, f.Sync())
		f.Close()
	}
}

// load returns the letters of the file.
func load() string {
	letters, _ := os.ReadFile(path)
	return string(letters)
}

func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}
