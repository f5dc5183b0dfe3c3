package scratch

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/sut"
)

// Long builds are told on the way, but not every package.
const (
	quietBuild    = 3 * time.Second
	buildInterval = 10 * time.Second
)

// BuildTold is Build, with what is done told to the user. The first program of a release
// of Go takes its standard library to be compiled, which nobody expects.
func BuildTold(ctx context.Context, o sut.BuildOptions, say func(format string, a ...any), doing string) (
	p *sut.Program, clean func(), err error) {
	say("%s", doing)
	toolchain, err := sut.UserToolchain(ctx, o.Dir)
	if err != nil {
		return nil, nil, err
	}
	if toolchain.Fresh {
		say("this is the first check with %s: its standard library is compiled, once, which takes about a "+
			"minute", toolchain.Version)
	}
	next := time.Now().Add(quietBuild)
	o.Progress = func(compiled, all int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(buildInterval)
			say("%s: %d packages of at most %d are compiled", doing, compiled, all)
		}
	}
	return buildWith(ctx, toolchain, o)
}

// Build builds a program into a directory of its own, which clean removes. On an error
// nothing is left to clean.
func Build(ctx context.Context, o sut.BuildOptions) (p *sut.Program, clean func(), err error) {
	toolchain, err := sut.UserToolchain(ctx, o.Dir)
	if err != nil {
		return nil, nil, err
	}
	return buildWith(ctx, toolchain, o)
}

// buildWith is Build with that toolchain.
func buildWith(ctx context.Context, toolchain *sut.Toolchain, o sut.BuildOptions) (
	p *sut.Program, clean func(), err error) {
	to, clean, err := Make()
	if err != nil {
		return nil, nil, err
	}
	o.Output = filepath.Join(to, "program")
	if p, err = toolchain.Build(ctx, o); err != nil {
		clean()
	}
	return p, clean, err
}

// BuildMatching builds the program of one of several nodes. A pattern that matches no package of it
// may be meant for another node. So it is built without those, and they are returned.
func BuildMatching(ctx context.Context, o sut.BuildOptions, say func(format string, a ...any)) (
	p *sut.Program, remove func(), missed []string, err error) {
	doing := "building " + o.Package
	for {
		p, remove, err = BuildTold(ctx, o, say, doing)
		unmatched := (*sut.UnmatchedError)(nil)
		if !errors.As(err, &unmatched) {
			return p, remove, missed, err
		}
		isMissed := func(pattern string) bool { return pattern == unmatched.Pattern }
		missed, doing = append(missed, unmatched.Pattern), doing+", without "+unmatched.Pattern
		o.PreemptIn = slices.DeleteFunc(slices.Clone(o.PreemptIn), isMissed)
		o.Races = slices.DeleteFunc(slices.Clone(o.Races), isMissed)
	}
}
