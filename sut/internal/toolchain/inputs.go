package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// To find out that nothing has changed takes the go command longer than it takes to list packages,
// since it looks at each of them anew. So a hash of all that a program is made of is noted beside
// the program. If it is the same the next time, the go command is not asked. What might count, and
// is not known here, has no hash. It does no harm if the hash is of more than counts: then the same
// program is built again.

// listedFields are what `go list` is asked for.
const listedFields = "ImportPath,Dir,Name,Standard,GoFiles,CgoFiles,IgnoredGoFiles,Imports,Module,Error," +
	"ForTest,DefaultGODEBUG,SFiles,HFiles,EmbedFiles,TestEmbedFiles,XTestEmbedFiles," +
	"CFiles,CXXFiles,MFiles,FFiles,SwigFiles,SwigCXXFiles,SysoFiles"

// inputsOfPackage is what is listed of a package only to find out whether it has changed.
type inputsOfPackage struct {
	ForTest, DefaultGODEBUG                     string
	SFiles, HFiles                              []string
	EmbedFiles, TestEmbedFiles, XTestEmbedFiles []string
	// Of these languages there is none.
	CFiles, CXXFiles, MFiles, FFiles, SwigFiles, SwigCXXFiles []string
	SysoFiles                                                 []string // objects
}

// inputsOfModule is the same of a module.
type inputsOfModule struct {
	Version, GoVersion, GoMod string
	Replace                   *struct{ Path, Version, Dir string }
}

// inputs is what a program is made of.
type inputs struct {
	listed   time.Time // before the go command listed the packages
	packages []listedPackage
	goFlags  string
	args     []string // what else the go command is told
}

// inputsOf is what a program is made of whose packages were listed, the main one last. args are for
// the go command.
func inputsOf(
	t *Toolchain, o BuildOptions, listed time.Time, packages []listedPackage, args []string,
) inputs {
	var variables []string
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GO") || strings.HasPrefix(v, "CGO") {
			variables = append(variables, v)
		}
	}
	slices.Sort(variables)
	// The name of the distribution has the hash of the standard library.
	return inputs{listed, packages, t.goFlags,
		slices.Concat([]string{t.Root, o.Package}, args, variables)}
}

// hash is that of all that the program is made of, now; "" if it is not known.
func (in inputs) hash() string {
	if !harmless(in.goFlags) {
		return ""
	}
	h := sha256.New()
	out := json.NewEncoder(h)
	err := out.Encode([]any{in.goFlags, in.args})
	main := in.packages[len(in.packages)-1]
	files := []string{filepath.Join(main.Dir, "default.pgo"), goEnvFile()} // mostly not there
	for _, p := range in.packages {
		err = errors.Join(err, out.Encode(p))
		if p.Standard {
			continue
		}
		if p.hasOther() {
			return ""
		}
		files = append(files, p.files()...)
		if m := p.Module; m != nil && m.Main && m.GoMod != "" {
			files = append(files, m.GoMod, strings.TrimSuffix(m.GoMod, ".mod")+".sum")
		}
	}
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		err = errors.Join(err, hashFile(h, out, name))
	}
	if err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// harmless reports whether flags of GOFLAGS only say what is listed, too.
func harmless(goFlags string) bool {
	for _, flag := range strings.Fields(goFlags) {
		name, _, _ := strings.Cut(strings.TrimLeft(strings.Trim(flag, `'"`), "-"), "=")
		if !slices.Contains([]string{"mod", "tags", "buildvcs", "trimpath", "count"}, name) {
			return false
		}
	}
	return true
}

// hashFile adds the content of a file, or that it is not there.
func hashFile(h io.Writer, out *json.Encoder, name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return out.Encode([]any{name, false})
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := out.Encode([]any{name, info.Size(), info.Mode()}); err != nil {
		return err
	}
	_, err = io.Copy(h, f)
	return err
}

// goEnvFile is where `go env -w` writes variables; "" if there is none.
func goEnvFile() string {
	if file := os.Getenv("GOENV"); file != "" {
		return file // "off" is a name like any other, here
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "go", "env")
}

// files are what a package is made of, but for the main package of tests, which the go command
// writes.
func (p *listedPackage) files() (list []string) {
	if strings.HasSuffix(p.ImportPath, ".test") {
		return nil
	}
	for _, names := range [][]string{p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles, p.TestEmbedFiles,
		p.XTestEmbedFiles} {
		for _, name := range names {
			list = append(list, filepath.Join(p.Dir, name))
		}
	}
	return list
}

// hasOther reports whether a package has files of other languages, or objects.
func (p *listedPackage) hasOther() bool {
	return len(p.CgoFiles)+len(p.CFiles)+len(p.CXXFiles)+len(p.MFiles)+len(p.FFiles)+len(p.SwigFiles)+
		len(p.SwigCXXFiles)+len(p.SysoFiles) > 0
}

// areListed reports whether the packages have no other files than those that were listed. A file
// that has come or gone meanwhile has changed the time of its directory.
func (in inputs) areListed() bool {
	const clockStep = 20 * time.Millisecond // of the times of files
	dirs := map[string]bool{}
	for i := range in.packages {
		p := &in.packages[i]
		if p.Standard {
			continue
		}
		dirs[p.Dir] = true
		for _, name := range p.files() {
			dirs[filepath.Dir(name)] = true
		}
	}
	for dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || !info.ModTime().Before(in.listed.Add(-clockStep)) {
			return false
		}
	}
	return true
}
