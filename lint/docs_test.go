package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is a file of prose.
type document struct{ path, text string }

// documents are all of them but test data and the licence.
func documents(t *testing.T) (all []document) {
	files(t, func(name string, data []byte) {
		if strings.HasSuffix(name, ".md") && !strings.Contains(name, "testdata/") {
			all = append(all, document{filepath.ToSlash(name), string(data)})
		}
	})
	if len(all) < 5 {
		t.Fatalf("only %d documents found", len(all))
	}
	return all
}

// maxArchitecture is how many bytes the first document about the code may have.
const maxArchitecture = 10 << 10

func TestArchitectureIsShort(t *testing.T) {
	data, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxArchitecture {
		t.Errorf("ARCHITECTURE.md has %d bytes, at most %d: what is more belongs to docs/design",
			len(data), maxArchitecture)
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`([^`\n]+)`")
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// documentName is the name of a document in code, from the root of the repository.
	documentName = regexp.MustCompile(`\b(docs/[\w/-]+\.md)(?:#([\w-]+))?`)
	notASlug     = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// TestLinks: what documents link to is there, places in documents too.
func TestLinks(t *testing.T) {
	for _, d := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
			target, place, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			name := d.path
			if target != "" {
				name = path.Join(path.Dir(d.path), target)
			}
			text, err := os.ReadFile(filepath.Join("..", name))
			if info, statErr := os.Stat(filepath.Join("..", name)); statErr != nil {
				t.Errorf("%s: there is no %s", d.path, match[1])
				continue
			} else if info.IsDir() {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if place != "" && !slices.Contains(slugs(string(text)), place) {
				t.Errorf("%s: %s has no heading for #%s", d.path, name, place)
			}
		}
	}
}

// slugs are the names of a document's headings in links.
func slugs(text string) (all []string) {
	seen := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		plain := notASlug.ReplaceAllString(strings.ToLower(match[1]), "")
		slug := strings.ReplaceAll(plain, " ", "-")
		all = append(all, slug)
		if n := seen[slug]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", slug, n)) // the same words once more
		}
		seen[slug]++
	}
	return all
}

// TestNamedDocuments: documents that messages, comments and scripts name are there, with the
// place that they name.
func TestNamedDocuments(t *testing.T) {
	named := 0
	err := filepath.WalkDir("..", func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if base := entry.Name(); base == ".git" || base == "bin" {
				return filepath.SkipDir
			}
			return err
		}
		switch path.Ext(name) {
		case ".go", ".sh", ".txt", ".yaml", ".yml", ".profile", ".mod", "":
		default:
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, match := range documentName.FindAllStringSubmatch(string(data), -1) {
			named++
			text, err := os.ReadFile(filepath.Join("..", match[1]))
			if err != nil {
				t.Errorf("%s: there is no %s", name, match[1])
			} else if match[2] != "" && !slices.Contains(slugs(string(text)), match[2]) {
				t.Errorf("%s: %s has no heading for #%s", name, match[1], match[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if named == 0 {
		t.Error("no document is named anywhere")
	}
}

// helpInReference is a section of the reference of commands: how one is called, and its help text.
var helpInReference = regexp.MustCompile("(?ms)^## (tandem.*?)$\n\n```text\n(.*?)^```$")

// TestReferenceOfCommands: the help texts in the reference are those that tandem prints. The tests
// of cmd/tandem, which write them, take longer than a look at each change should.
func TestReferenceOfCommands(t *testing.T) {
	reference, err := os.ReadFile("../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	tandem := filepath.Join(t.TempDir(), "tandem")
	if out, err := exec.Command("go", "build", "-o", tandem, "../cmd/tandem").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sections := helpInReference.FindAllStringSubmatch(string(reference), -1)
	if len(sections) < 10 {
		t.Fatalf("only %d commands are in the reference", len(sections))
	}
	for _, section := range sections {
		args := append(strings.Fields(section[1])[1:], "--help")
		out, err := exec.Command(tandem, args...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(section[2]) {
			t.Errorf("the help of %s is not that in docs/reference/commands.md (%v): run go test "+
				"./cmd/tandem -run TestReference -update, and commit", section[1], err)
		}
	}
}

var (
	testName   = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`)
	makeTarget = regexp.MustCompile(`(?:^|[\s` + "`" + `])make ((?:[a-z0-9]+ ?)+)`)
	goRun      = regexp.MustCompile(`\bgo run (\./[\w/]+)`)
	command    = regexp.MustCompile(`\btandem ([a-z]+)\b`)
	// Commands with flags of their own.
	others   = regexp.MustCompile(`\b(go|git|criu|docker|apt-get|colima|limactl) `)
	flagName = regexp.MustCompile(`(?:^|\s|=)--([a-z][a-z-]+)`)
	// Options of docker, which documents name without it, too.
	dockerFlag = regexp.MustCompile(`^(privileged|user|cap-add|cap-drop|security-opt|build-arg|platform)$`)
)

// TestNames: the files, targets of make, commands, flags and tests that documents name are
// there. Only text in the type of code counts.
func TestNames(t *testing.T) {
	names := declaredNames(t)
	for _, d := range documents(t) {
		// What is told in a changelog may be gone, and the reference is made from the code.
		if strings.HasPrefix(d.path, "CHANGELOG") || strings.HasPrefix(d.path, "docs/reference/") {
			continue
		}
		pieces := fence.FindAllString(d.text, -1)
		for _, match := range code.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
			pieces = append(pieces, match[1])
		}
		for _, piece := range pieces {
			for _, what := range names.missing(d, piece) {
				t.Errorf("%s: there is no %s", d.path, what)
			}
		}
	}
}

// names are what documents may name.
type names struct {
	rooms, tests, targets, commands []string
	goFiles                         map[string]bool // without directory
	source                          string          // of the command tandem
}

func declaredNames(t *testing.T) names {
	n := names{goFiles: map[string]bool{}}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && entry.Name() != "bin" {
			n.rooms = append(n.rooms, entry.Name())
		}
	}
	files(t, func(name string, data []byte) {
		n.goFiles[path.Base(filepath.ToSlash(name))] = true
		if strings.HasSuffix(name, "_test.go") {
			n.tests = append(n.tests, testName.FindAllString(string(data), -1)...)
		}
		if strings.HasPrefix(name, filepath.Join("cmd", "tandem")) {
			n.source += string(data)
		}
	})
	// The reference is made from the code, and has the commands of cobra, too.
	reference, err := os.ReadFile("../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^## tandem ([a-z]+)$`).FindAllStringSubmatch(
		string(reference), -1) {
		n.commands = append(n.commands, match[1])
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^([a-z0-9]+):`).FindAllStringSubmatch(string(makefile),
		-1) {
		n.targets = append(n.targets, match[1])
	}
	return n
}

// missing lists what a piece of code in a document names and what is not there.
func (n names) missing(d document, piece string) (all []string) {
	for _, match := range makeTarget.FindAllStringSubmatch(piece, -1) {
		if target := strings.Fields(match[1])[0]; !slices.Contains(n.targets, target) {
			all = append(all, "target of make: "+target)
		}
	}
	for _, match := range command.FindAllStringSubmatch(piece, -1) {
		if !strings.HasPrefix(piece, "```mermaid") && !slices.Contains(n.commands, match[1]) {
			all = append(all, "command: tandem "+match[1])
		}
	}
	for _, match := range goRun.FindAllStringSubmatch(piece, -1) {
		if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
			all = append(all, "package: "+match[1])
		}
	}
	for _, match := range flagName.FindAllStringSubmatch(piece, -1) {
		known := match[1] == "help" || strings.Contains(n.source, `"`+match[1]+`"`)
		if !known && !dockerFlag.MatchString(match[1]) && !others.MatchString(piece) {
			all = append(all, "flag: --"+match[1])
		}
	}
	for _, name := range testName.FindAllString(piece, -1) {
		has := func(test string) bool { return strings.HasPrefix(test, name) }
		// A document may show a test, which is then a reader's own.
		if !slices.ContainsFunc(n.tests, has) && !strings.Contains(d.text, "func "+name+"(") {
			all = append(all, "test: "+name)
		}
	}
	if !strings.Contains(piece, "\n") {
		all = append(all, n.missingFiles(d, piece)...)
	}
	return all
}

// missingFiles looks at a piece of code that may be the name of a file or directory: one that
// begins with a room, or one that ends like a file of Go or C.
func (n names) missingFiles(d document, piece string) []string {
	name := strings.TrimPrefix(piece, "./")
	placeholder := strings.ContainsAny(name, " *{<:$") || strings.Contains(name, "NAME")
	if placeholder || strings.HasSuffix(name, "...") {
		return nil
	}
	first, _, below := strings.Cut(name, "/")
	if below && slices.Contains(n.rooms, first) {
		for _, base := range []string{"..", filepath.Join("..", path.Dir(d.path))} {
			if _, err := os.Stat(filepath.Join(base, name)); err == nil {
				return nil
			}
		}
		return []string{"file: " + name}
	}
	isCode := path.Ext(name) == ".go" || path.Ext(name) == ".c"
	shown := strings.Contains(d.text, "`"+name+"`:\n") // a file of the reader's (scripts/follow)
	if !below && isCode && !n.goFiles[name] && !shown {
		return []string{"file: " + name}
	}
	return nil
}
