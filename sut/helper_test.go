package sut_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/sut"
)

var program *sut.Program // built once, for all tests

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tandem-sut-")
	if err == nil {
		program, err = build(dir, "./testdata/program")
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// cache is where patched toolchains are kept between test runs.
func cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "tandem")
}

func build(dir, pkg string, races ...string) (*sut.Program, error) {
	ctx := context.Background()
	toolchain, err := sut.NewToolchain(ctx, ".", cache())
	if err != nil {
		return nil, err
	}
	return toolchain.Build(ctx, sut.BuildOptions{Dir: ".", Package: pkg,
		Output: filepath.Join(dir, "program"), Races: races})
}

// start starts a worker that runs a scenario of the test program.
func start(t testing.TB, isolation sut.Isolation, scenario string, args ...string) *sut.Worker {
	t.Helper()
	return startIn(t, isolation, sut.Environment{}, scenario, args...)
}

// startIn is start in a world.
func startIn(t testing.TB, isolation sut.Isolation, world sut.Environment, scenario string,
	args ...string) *sut.Worker {
	t.Helper()
	o := sut.Options{Args: append([]string{scenario}, args...), Isolation: isolation, Environment: world}
	w, err := sut.Start(program, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func run(t testing.TB, w *sut.Worker, s sut.Schedule, peers sut.Peers) *sut.Log {
	t.Helper()
	log, err := w.Run(s, peers)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// echoServer is a peer that answers everything with itself.
type echoServer struct {
	connections int
	silent      bool
	refuse      int
}

func (e *echoServer) Exchange(in model.Input) (model.Answer, error) {
	switch in.Kind {
	case model.Connect:
		if e.refuse != 0 {
			return model.Answer{Reaction: model.Reaction{Refused: e.refuse}}, nil
		}
		e.connections++
		return model.Answer{Conn: e.connections - 1}, nil
	case model.Send:
		if !e.silent {
			data := append([]byte(nil), in.Data...)
			return model.Answer{Reaction: model.Reaction{Deliveries: []model.Delivery{{Conn: in.Conn,
				Data: data}}}}, nil
		}
	case model.Shutdown:
		return model.Answer{Reaction: model.Reaction{Deliveries: []model.Delivery{{Conn: in.Conn,
			End: model.EOF}}}}, nil
	}
	return model.Answer{}, nil
}
