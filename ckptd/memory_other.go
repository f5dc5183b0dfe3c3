//go:build !amd64

package ckptd

import (
	"errors"
	"os"
	"runtime"
)

// errRefused says that a backend cannot hold a group as it is.
var errRefused = errors.New("the memory backend cannot hold this group")

func newMemory(*os.File) (backend, error) {
	return nil, errors.New("it knows the processor amd64 only, not " + runtime.GOARCH + ": use the backend criu")
}

// Of what follows nothing is ever made.

type objects struct{}

type ownPage struct{}

func mappedBy(*memoryImage) mappedFiles { return mappedFiles{} }

type memoryImage struct{}

func (*memoryImage) end() {}

func (*memoryImage) alive() bool { return false }

func (*memoryImage) weigh() int64 { return 0 }

func (*memoryImage) pids() []int { return nil }

func (*hosted) joinClocks() error { return nil }

func (*memoryImage) fixed() int64 { return 0 }

type tracer struct{}

type revival struct{}

type waits struct{}

func (*revival) abandon() {}

func (*tracer) settle() error { return nil }

func (*tracer) close() {}
