package toolchain

import (
	"slices"
	"strings"
)

// userTags are the build tags that are asked for, else those of GOFLAGS.
func (t *Toolchain) userTags(o BuildOptions) []string {
	if len(o.Tags) > 0 {
		return o.Tags
	}
	return tagsIn(t.goFlags)
}

// tags are all build tags, as a flag. They take the place of those of GOFLAGS. Race makes the
// standard library tell the detector how it synchronises; the detector itself is that of the
// overlay.
func (t *Toolchain) tags(o BuildOptions) []string {
	list := t.userTags(o)
	if len(o.Races) > 0 {
		list = append(slices.Clone(list), "race")
	}
	if len(list) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(list, ",")}
}

// tagsIn are the build tags that GOFLAGS name: the last of several flags counts.
func tagsIn(goFlags string) (list []string) {
	for _, flag := range strings.Fields(goFlags) {
		flag = strings.Trim(flag, `'"`)
		if tags, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "tags="); ok {
			list = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' })
		}
	}
	return list
}

// isOwn reports whether a package is in the main module. The package of annotations is a part of
// the checker, even in Tandem's own module.
func (p *listedPackage) isOwn() bool {
	return p.Module != nil && p.Module.Main && p.ImportPath != annotations
}

// isDirect reports whether a package is in a module that a main module requires directly.
func (p *listedPackage) isDirect() bool {
	return p.Module != nil && !p.Module.Main && !p.Module.Indirect && p.ImportPath != annotations
}

// directModules are the modules of a program that are watched as direct dependencies, sorted, each
// once; nil if that was not asked for.
func directModules(packages []listedPackage, races []string) (modules []string) {
	if !slices.Contains(races, RacesDirect) {
		return nil
	}
	for _, p := range packages {
		if p.isDirect() {
			modules = append(modules, p.Module.Path)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// watched reports whether accesses to memory in a package are looked at. The lowest packages would
// call the detector from within itself.
func (p *listedPackage) watched(races []string) bool {
	if matchesAny(lowest, p.ImportPath) || matchesAny(patched, p.ImportPath) {
		return false
	}
	direct := slices.Contains(races, RacesDirect)
	own := (direct || slices.Contains(races, RacesMain)) &&
		(p.isOwn() || p.Name == "main" || p.Standard && matchesAny(data, p.ImportPath))
	return own || direct && p.isDirect() || slices.Contains(races, RacesAll) ||
		matchesAny(races, p.ImportPath)
}

// compilerFlags make the atomics of the program visible: those of the packages
// in which goroutines may be preempted, and of all others that synchronise with
// them. They also keep the calls of these packages calls, so that each has its
// line. The first is safe only together with the second: without intrinsics, some
// functions of the standard library must not be inlined into others.
//
// Generic functions are compiled where they are instantiated: packages in instances have what
// atomicInstances says.
//
// Where data races are looked for, the compiler marks the accesses to memory.
// All atomics order them, even those that are no operations of their own.
func compilerFlags(packages []listedPackage, instances map[string]bool, open, races []string) []string {
	const visible = "-d=ssa/intrinsics/off"
	flags := []string{"-gcflags=sync/atomic=" + visible}
	for _, p := range packages {
		var f string
		atomics := slices.Contains(p.Imports, "sync/atomic") &&
			(len(races) > 0 && !matchesAny(lowest, p.ImportPath) || !matchesAny(private, p.ImportPath))
		if atomics || instances[p.ImportPath] || matchesAny(open, p.ImportPath) {
			f = visible + " -l"
		}
		if p.watched(races) {
			f += " -race -d=checkptr=0"
		}
		if f != "" {
			flags = append(flags, "-gcflags="+p.ImportPath+"="+f)
		}
	}
	return flags
}

// Environment is what the runtime of a program is told of its packages: in which of them
// goroutines may be preempted, and which are private.
func (p *Program) Environment() []string {
	return []string{"TANDEM_OPEN=" + strings.Join(p.Open, ","),
		"TANDEM_PRIVATE=" + strings.Join(private, ",")}
}

// lowest are the packages that the detector is made of, or which tell it how they
// synchronise.
var lowest = []string{"runtime", "internal/runtime/...", "internal/race", "internal/abi", "internal/cpu",
	"sync/atomic"}

// data are packages of the standard library that keep what the program gives them in memory,
// and leave locking to it: an access to a list, buffer or encoder is one of its user. They
// are watched with the main module.
var data = []string{
	"archive/...", "bufio", "bytes", "compress/...", "container/...", "encoding/...", "flag", "hash/...",
	"html/...",
	"image/...", "index/...", "io", "iter", "log/slog", "maps", "math/big", "math/rand/...", "mime/...",
	"net/mail",
	"net/textproto", "net/url", "regexp/...", "slices", "sort", "strings", "text/...",
}

// patched are packages of which a part is the checker's, not the program's.
var patched = []string{"syscall", "internal/poll"}

// private are the packages whose atomics are no operations: they are a part of one, as in package
// sync, or keep a cache, as in package reflect, and no program can tell their order. They order
// accesses to memory.
var private = []string{
	"runtime/...", "internal/...", "sync/...", "syscall", "os/...", "time", "reflect", "unique",
	"encoding/...", "crypto/internal/...", "vendor/...",
}
