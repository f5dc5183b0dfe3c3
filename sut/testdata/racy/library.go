package main

import (
	"bufio"
	"bytes"
	"container/list"
	"encoding/gob"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"math/big"
	"math/rand"
	"slices"
	"strings"
)

// What keeps data for the program leaves locking to it, and what says that
// it can be used by several goroutines locks by itself.
func init() {
	for name, action := range map[string]func(){
		"racy container/list":     onList(),
		"racy bytes.Buffer":       onWriter(new(bytes.Buffer)),
		"racy strings.Builder":    onWriter(new(strings.Builder)),
		"racy bufio.Writer":       onWriter(bufio.NewWriter(io.Discard)),
		"racy io.MultiWriter":     onWriter(io.MultiWriter(io.Discard, new(strings.Builder))),
		"racy json.Encoder":       onJSON(),
		"racy rand.Rand":          onRand(),
		"racy big.Int":            onBig(),
		"racy slices.Sort":        onSlice(),
		"racy slog with one sink": onSink(),
		"log.Logger":              onLogger(),
		"slog.Handler":            onHandler(),
		"gob.Encoder":             onGob(),
	} {
		scenarios[name] = func() { fork(action, action) }
	}
}

func onList() func() {
	l := list.New()
	return func() { l.PushBack(1) }
}

func onWriter(w io.Writer) func() { return func() { io.WriteString(w, "x") } }

func onJSON() func() {
	e := json.NewEncoder(io.Discard)
	return func() {
		e.SetEscapeHTML(false)
		e.Encode(1)
	}
}

func onRand() func() {
	r := rand.New(rand.NewSource(1))
	return func() { r.Int() }
}

func onBig() func() {
	n := big.NewInt(1)
	return func() { n.Add(n, big.NewInt(1)) }
}

func onSlice() func() {
	s := []int{3, 2, 1}
	return func() { slices.Sort(s) }
}

func onSink() func() {
	var b bytes.Buffer
	return func() { slog.New(slog.NewTextHandler(&b, nil)).Info("x") }
}

func onLogger() func() {
	l := log.New(new(bytes.Buffer), "", 0)
	return func() { l.Print("x") }
}

func onHandler() func() {
	l := slog.New(slog.NewJSONHandler(new(bytes.Buffer), nil))
	return func() { l.Info("x", "n", 1) }
}

func onGob() func() {
	e := gob.NewEncoder(io.Discard)
	return func() { e.Encode(1) }
}
