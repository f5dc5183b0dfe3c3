package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// BuildOptions say what to build. A pattern that matches no package of the program is an error.
type BuildOptions struct {
	Dir     string // where the go command runs
	Package string // as the go command takes it
	Tests   bool   // build the tests of the package; otherwise it is a main package
	Output  string // the file to write; its path is absolute
	// Packages beside the main module in which goroutines may be preempted; PATH or PATH/...
	PreemptIn []string
	// Races says in which packages accesses to memory are watched for data races:
	// PATH, PATH/..., RacesMain, RacesDirect or RacesAll. Empty: nowhere.
	Races []string
	// Tags are build tags; empty: those of GOFLAGS.
	Tags []string
	// Debugged has the program keep what debuggers need. It is the same code all the same.
	Debugged bool
	// Progress is called when a package has been compiled, with their number, and how many there
	// are in all. Those that were compiled before are left out. May be nil. Of tests nothing is
	// known.
	Progress func(compiled, all int)
}

// Patterns of packages in BuildOptions.Races.
const (
	// Those of the main module, and what the standard library has for data: lists, buffers,
	// encoders.
	RacesMain   = "main"
	RacesDirect = "direct" // these, and those of the modules that a main module requires directly
	RacesAll    = "all"    // all of the standard library and of other modules
)

// Program is a program built to be run by workers. It does not change, and may be used by several
// workers at the same time. The file is the caller's.
type Program struct {
	Path       string   // of the executable
	ImportPath string   // of its main package; of tests, that of the package and .test
	Dir        string   // of its main package, or of the package that is tested
	Tests      bool     // it is a test binary
	Version    string   // of Go
	Hash       string   // of the executable
	Open       []string // package patterns in which goroutines may be preempted
	Races      []string // as in BuildOptions
	Direct     []string // modules that are watched as direct dependencies, sorted
	Tags       []string // of the build, without those that Tandem adds
	symbols    *symbols
	// Of packages that are neither of the standard library nor of a main module.
	modules map[string]string
}

// Name is what the program is told to be its name: that of the file differs from
// run to run. Tests that start themselves anew take it for a path.
func (p *Program) Name() string {
	if p.Tests {
		return "./" + path.Base(p.ImportPath)
	}
	return path.Base(p.ImportPath)
}

// listedPackage is what `go list` tells of a package.
type listedPackage struct {
	ImportPath string
	Dir        string
	Name       string
	Standard   bool
	GoFiles    []string
	CgoFiles   []string
	// IgnoredGoFiles are left out, by their names or build constraints.
	IgnoredGoFiles []string
	Imports        []string
	Module         *listedModule
	inputsOfPackage
	Error *struct{ Err string }
}

// listedModule is what `go list` tells of the module of a package.
type listedModule struct {
	Path     string
	Main     bool
	Indirect bool // no main module requires it directly
	inputsOfModule
}

// ErrNoTests is the error of building the tests of a package that has none.
var ErrNoTests = errors.New("no test files")

// cgoLine is where a package that uses cgo imports "C". Where the file cannot be read it is the
// file.
func (p *listedPackage) cgoLine() string {
	path := filepath.Join(p.Dir, p.CgoFiles[0])
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ImportsOnly)
	if err != nil {
		return path
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"C"` {
			return files.Position(i.Path.Pos()).String()
		}
	}
	return path
}

// Build compiles a main package, or the tests of a package. Programs that need cgo are refused.
// What is wrong with the user's code is an error with the messages of the compiler. The error of
// tests that are not there is ErrNoTests.
func (t *Toolchain) Build(ctx context.Context, o BuildOptions) (*Program, error) {
	if strings.HasPrefix(o.Package, "-") { // the go command would take it for a flag
		return nil, fmt.Errorf("%q is no package: its name begins with a dash; name another one", o.Package)
	}
	if strings.Contains(o.Package, "...") {
		return nil, fmt.Errorf("%s may be several packages: name one", o.Package)
	}
	// The list comes first: it is quick, and says what can be refused before anything is compiled.
	listed := time.Now()
	packages, err := t.list(ctx, o)
	if err != nil {
		return nil, err
	}
	main := packages[len(packages)-1]
	switch {
	case o.Tests && !strings.HasSuffix(main.ImportPath, ".test"):
		return nil, fmt.Errorf("%s: %w", o.Package, ErrNoTests)
	case main.Name != "main":
		return nil, fmt.Errorf("%s is package %s, not a program: name a main package, or check its tests "+
			"with `tandem test %s`", o.Package, main.Name, o.Package)
	}
	if pattern, ok := unmatched(packages, o.PreemptIn, "main"); ok {
		return nil, &UnmatchedError{o.Package, pattern, "goroutines cannot be preempted there"}
	}
	if pattern, ok := unmatched(packages, o.Races, RacesMain, RacesDirect, RacesAll); ok {
		return nil, &UnmatchedError{o.Package, pattern, "data races cannot be looked for there"}
	}
	p := &Program{
		Path: o.Output, ImportPath: main.ImportPath, Dir: main.Dir, Tests: o.Tests, Version: t.Version,
		Open: openPatterns(packages, o.PreemptIn), Races: o.Races, Direct: directModules(packages, o.Races),
		Tags: t.userTags(o), modules: modulesOf(packages),
	}
	command := []string{"build", "-buildvcs=false"}
	if o.Tests {
		command = []string{"test", "-c", "-vet=off"}
	}
	args := append(command, t.tags(o)...)
	instances, err := atomicInstances(packages)
	if err != nil {
		return nil, err
	}
	args = append(args, compilerFlags(packages, instances, p.Open, o.Races)...)
	// The user's flags for the linker would not be heeded beside others.
	if !o.Debugged && !strings.Contains(t.goFlags, "-ldflags") {
		// Else nobody reads DWARF, and it is a third of the linker's work.
		args = append(args, "-ldflags=-w")
	}
	if p.Hash, err = t.link(ctx, o, inputsOf(t, o, listed, packages, args), args); err != nil {
		return nil, err
	}
	p.symbols, err = readSymbols(o.Output)
	return p, err
}

// Moved is the program in another file. Of its modules it knows nothing.
func (p *Program) Moved(path string) (*Program, error) {
	hash, err := HashFile(path)
	if err != nil {
		return nil, err
	}
	if hash != p.Hash {
		return nil, fmt.Errorf("%s is another program than %s, which was to be there (its hash is %.12s and "+
			"not %.12s): start the check and its workers again", path, p.ImportPath, hash, p.Hash)
	}
	moved := *p
	moved.Path = path
	moved.symbols, err = readSymbols(path)
	return &moved, err
}

// Package is where a package is.
type Package struct {
	ImportPath string
	Dir        string
}

// Packages returns the packages that patterns, such as ./..., match when the go
// command runs in dir, with build tags as in BuildOptions.
func (t *Toolchain) Packages(
	ctx context.Context, dir string, tags []string, patterns ...string,
) (list []Package, err error) {
	args := append([]string{"list", "-f", "{{.ImportPath}}\t{{.Dir}}"}, t.tags(BuildOptions{Tags: tags})...)
	out, err := t.goCommand(ctx, dir, append(append(args, "--"), patterns...)...)
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		list = append(list, Package{path, dir})
	}
	if err == nil && len(list) == 0 {
		err = errors.New("no package matches: check the name")
	}
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w; check the name, and "+
			"go.mod", strings.Join(patterns, " "), err)
	}
	return list, nil
}

// list returns the packages that a program is made of, the main one last. Without cgo the go
// command leaves files out that need it, and the build would fail for other reasons or use
// something else. So where there are such files it is asked again, with cgo.
func (t *Toolchain) list(ctx context.Context, o BuildOptions) ([]listedPackage, error) {
	packages, err := t.runList(ctx, o, "CGO_ENABLED=0")
	if err == nil && !slices.ContainsFunc(packages, listedPackage.mayUseCgo) {
		return packages, nil
	}
	cgo, cgoErr := t.runList(ctx, o, "CGO_ENABLED=1")
	for _, p := range cgo {
		if !p.Standard && len(p.CgoFiles) > 0 {
			return nil, fmt.Errorf("%s uses cgo: code that is not Go cannot be controlled; replace "+
				"it\n\tat %s",
				p.ImportPath, p.cgoLine())
		}
	}
	return packages, cmp.Or(err, cgoErr)
}

// mayUseCgo reports whether a package has files that are left out where there is no cgo. It errs on
// the side of yes: then go list is asked once more.
func (p listedPackage) mayUseCgo() bool {
	return !p.Standard && slices.ContainsFunc(p.IgnoredGoFiles, func(name string) bool {
		content, err := os.ReadFile(filepath.Join(p.Dir, name))
		return err != nil || bytes.Contains(content, []byte("cgo")) || bytes.Contains(content, []byte(`"C"`))
	})
}

// runList runs go list, with one more variable in its environment. Errors of packages are in the
// list, so that the first of them can be told as the user knows it.
func (t *Toolchain) runList(ctx context.Context, o BuildOptions, env string) ([]listedPackage, error) {
	args := []string{"list", "-deps", "-e", "-json=" + listedFields}
	args = append(args, t.tags(o)...)
	if o.Tests {
		args = append(args, "-test")
	}
	cmd := t.command(ctx, o.Dir, append(args, o.Package)...)
	cmd.Env = append(cmd.Env, env)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w; check the name, and "+
			"go.mod", o.Package, commandError(err))
	}
	packages, err := decodeList(out)
	if err == nil && len(packages) == 0 {
		err = errors.New("no package matches: check the name")
	}
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w; %s", o.Package, err, t.whatToName(ctx, o, err))
	}
	return packages, nil
}

// whatToName is what to do about a package that is not there. In a directory without Go files it
// names programs below.
func (t *Toolchain) whatToName(ctx context.Context, o BuildOptions, missing error) string {
	const most = 3
	const advice = "check the name, and go.mod"
	if !strings.HasPrefix(missing.Error(), "no Go files in ") {
		return advice
	}
	from, err := filepath.Abs(o.Dir)
	if err != nil {
		return advice
	}
	dir := o.Package
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(from, dir)
	}
	list, err := t.goCommand(ctx, dir, "list", "-e", "-f", `{{if eq .Name "main"}}{{.Dir}}{{end}}`, "./...")
	if err != nil {
		return advice
	}
	var programs []string
	for program := range strings.Lines(string(list)) {
		if below, err := filepath.Rel(from, strings.TrimSpace(program)); err == nil {
			programs = append(programs, "./"+below)
		}
	}
	switch {
	case len(programs) == 0:
		return advice
	case len(programs) > most:
		programs = append(programs[:most], "...")
	}
	return "name a program (" + strings.Join(programs, ", ") + "), or a configuration with nodes (-c FILE)"
}

// decodeList reads what go list prints: one JSON object after the other. The first error that a
// package has is that of the whole.
func decodeList(out []byte) (packages []listedPackage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listedPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, err
		}
		if p.Error != nil {
			return nil, errors.New(p.Error.Err)
		}
		// A package that is compiled anew for a test is listed as "path [path.test]".
		p.ImportPath, _, _ = strings.Cut(p.ImportPath, " ")
		packages = append(packages, p)
	}
}

// modulesOf maps the packages of other modules to the paths of these. Those of the standard library
// and of main modules are not in it.
func modulesOf(packages []listedPackage) map[string]string {
	list := map[string]string{}
	for _, p := range packages {
		if !p.Standard && p.Module != nil && !p.Module.Main {
			list[p.ImportPath] = p.Module.Path
		}
	}
	return list
}

// openPatterns says where goroutines may be preempted: in the main module and where the user wants
// it. The main package is called main in the names of its functions, whatever its path.
func openPatterns(packages []listedPackage, more []string) []string {
	open := []string{"main"}
	if last := len(packages) - 1; strings.HasSuffix(packages[last].ImportPath, ".test") {
		packages = packages[:last] // the generated main package, whatever its path
	}
	for _, p := range packages {
		if p.isOwn() && !slices.Contains(open, p.ImportPath) {
			open = append(open, p.ImportPath)
		}
	}
	for _, pattern := range more {
		if !slices.Contains(open, pattern) {
			open = append(open, pattern)
		}
	}
	return open
}

// UnmatchedError is the error of a pattern of BuildOptions that matches no package of the program.
type UnmatchedError struct {
	Package, Pattern string
	cannot           string
}

func (e *UnmatchedError) Error() string {
	return fmt.Sprintf("%s is no package that %s is made of: %s; name another one", e.Pattern, e.Package,
		e.cannot)
}

// unmatched is a pattern that names no package of the program, and is none of the special ones. It
// would be a misspelt name, and whoever gave it would rely on it.
func unmatched(packages []listedPackage, patterns []string, special ...string) (string, bool) {
	for _, pattern := range patterns {
		if !slices.Contains(special, pattern) && !slices.ContainsFunc(packages, func(p listedPackage) bool {
			return matchesAny([]string{pattern}, p.ImportPath)
		}) {
			return pattern, true
		}
	}
	return "", false
}

// annotations is the package through which programs speak to the checker. It
// is a part of the operations that it offers, even where it is in the main module.
const annotations = "github.com/tandem-mc/tandem"

// matchesAny reports whether a path is one of the patterns, PATH or PATH/.... Other wildcards of
// the go command are not known here.
func matchesAny(patterns []string, path string) bool {
	for _, p := range patterns {
		base, tree := strings.CutSuffix(p, "/...")
		if path == base || tree && strings.HasPrefix(path, base+"/") {
			return true
		}
	}
	return false
}

// command is a run of the patched go command in a directory, for linux/amd64 and without cgo. The
// toolchain must not switch to another release, even if go.mod asks for that.
func (t *Toolchain) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(t.Root, "bin", "go"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOROOT="+t.Root, "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOOS=linux",
		"GOARCH=amd64")
	// Every allocation is to go through mallocgc, where it is noted.
	const specialized = "sizespecializedmalloc"
	if _, err := os.Stat(filepath.Join(t.Root, "src", "internal", "goexperiment",
		"exp_"+specialized+"_on.go")); err == nil {
		cmd.Env = append(cmd.Env, "GOEXPERIMENT="+
			strings.TrimPrefix(os.Getenv("GOEXPERIMENT")+",no"+specialized, ","))
	}
	return cmd
}

// goCommand runs the patched go command and returns what it prints.
func (t *Toolchain) goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	out, err := t.command(ctx, dir, args...).Output()
	return out, commandError(err)
}

// HashFile is what the content of a file is known by, in hexadecimal (SHA-256): Program.Hash, and
// what else a check rests on.
func HashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
