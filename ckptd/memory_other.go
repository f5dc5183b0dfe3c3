//go:build !amd64

package ckptd

import (
	"errors"
	"runtime"
)

// errRefused says that a backend cannot hold a group as it is.
var errRefused = errors.New("the memory backend cannot hold this group")

func newMemory() (backend, error) {
	return nil, errors.New("it knows the processor amd64 only, not " + runtime.GOARCH + ": use the backend criu")
}

// Of what follows nothing is ever made.

type memoryImage struct{}

func (*memoryImage) end() {}

type tracer struct{}

func (*tracer) close() {}
