package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateReference = flag.Bool("update", false, "write docs/reference anew")

// TestReference: the documents of the reference are what the code says. With -update they are
// written anew.
func TestReference(t *testing.T) {
	for name, text := range map[string]string{
		"commands.md":      referenceOfCommands(t),
		"configuration.md": referenceOfConfiguration(t),
		"report-schema.md": referenceOfSchema(t),
		"file-formats.md":  referenceOfFormats(t),
	} {
		path := filepath.Join("../../docs/reference", name)
		if *updateReference {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != text {
			t.Errorf("%s is not what the code says (%v): run go test ./cmd/tandem -run TestReference "+
				"-update, and commit", path, err)
		}
	}
}

// generated is the first paragraph of each document, below its title.
const generated = "This page is made from the code, and a test compares the two.\n"

// referenceOfCommands has the help text of each command.
func referenceOfCommands(t *testing.T) string {
	var index, texts strings.Builder
	for _, c := range commands() {
		c.InitDefaultHelpFlag() // a run of tandem does so, too
		c.InitDefaultVersionFlag()
		if !c.IsAvailableCommand() || c.Name() == "help" {
			continue
		}
		name := c.CommandPath()
		fmt.Fprintf(&index, "| [%s](#%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), c.Short)
		fmt.Fprintf(&texts, "\n## %s\n\n```text\n%s\n```\n", name, strings.TrimSpace(helpOf(t, c)))
	}
	return "# Commands\n\nThe help text of each command. " + generated +
		"\n| command | what it does |\n|---|---|\n" + index.String() + texts.String()
}

// referenceOfConfiguration has each key of the example that has them all, with its comment. That it
// has them all, and that it can be read, is tested in package configs.
func referenceOfConfiguration(t *testing.T) string {
	data, err := os.ReadFile("../../configs/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\n\n") // what the file says of itself
	if !ok {
		t.Fatal("the example has no beginning")
	}
	var out strings.Builder
	out.WriteString("# Configuration\n\nThe keys of `tandem.yaml`, each with an example. All may be " +
		"left out.\n" + generated)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(rest), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		comment := 0
		for comment < len(lines) && strings.HasPrefix(lines[comment], "#") {
			comment++
		}
		var keys []string
		for _, line := range lines[comment:] {
			if key, _, found := strings.Cut(line, ":"); found && !strings.ContainsAny(key, " #-") {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			t.Fatalf("no key in this paragraph of the example:\n%s", paragraph)
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n```yaml\n%s\n```\n", strings.Join(keys, ", "),
			commentAsProse(lines[:comment]), strings.Join(lines[comment:], "\n"))
	}
	return out.String()
}

// commentAsProse makes a paragraph of the lines of a comment. Lines that are indented are a list:
// by three blanks an item begins, and by more it goes on. Where no item has begun, lines that are
// indented by more are code, and stay as they are.
func commentAsProse(lines []string) string {
	blocks := []string{""}
	const asCode = "    "
	inList, inCode := false, false
	for _, line := range lines {
		text := strings.TrimPrefix(line, "#")
		switch indent := len(text) - len(strings.TrimLeft(text, " ")); {
		case indent == 3:
			blocks, inList, inCode = append(blocks, "- "+strings.TrimSpace(text)), true, false
		case indent > 3 && inCode:
			blocks[len(blocks)-1] += "\n" + text[1:]
		case indent > 3 && !inList:
			blocks, inCode = append(blocks, text[1:]), true
		case indent < 3 && (inList || inCode):
			blocks, inList, inCode = append(blocks, strings.TrimSpace(text)), false, false
		default:
			blocks[len(blocks)-1] += " " + strings.TrimSpace(text)
		}
	}
	for i, block := range blocks {
		if strings.HasPrefix(block, asCode) {
			continue
		}
		// What goes on below an item is indented as its text is.
		if text := wrapped(strings.TrimSpace(block)); strings.HasPrefix(text, "- ") {
			blocks[i] = strings.ReplaceAll(text, "\n", "\n  ")
		} else {
			blocks[i] = text
		}
	}
	return strings.ReplaceAll(strings.Join(blocks, "\n\n"), "\n\n- ", "\n- ")
}

// maxColumns is where lines end. Items of lists are indented afterwards.
const maxColumns = 98

// wrapped breaks a paragraph into lines.
func wrapped(text string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > maxColumns {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}

// jsonSchema is the part of a JSON Schema that the one of results uses.
type jsonSchema struct {
	Description string                 `json:"description"`
	Type        string                 `json:"type"`
	Ref         string                 `json:"$ref"`
	Enum        []string               `json:"enum"`
	Required    []string               `json:"required"`
	Properties  map[string]*jsonSchema `json:"properties"`
	Items       *jsonSchema            `json:"items"`
	AllOf       []*jsonSchema          `json:"allOf"`
	Definitions map[string]*jsonSchema `json:"definitions"`
}

// referenceOfSchema has a table for each definition of the schema.
func referenceOfSchema(t *testing.T) string {
	data, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonSchema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# Results as JSON\n\n%s\n\n%s\n\nFields in **bold** are always there.\n",
		wrapped("The fields of `--json`, as [report.schema.json](../report.schema.json) has them. "+
			"[Results for other programs](../machines.md) says how to use them. "+generated),
		wrapped(schema.Description))
	for _, name := range slices.Sorted(maps.Keys(schema.Definitions)) {
		d := schema.Definitions[name]
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| field | type | meaning |\n|---|---|---|\n", name,
			wrapped(d.Description))
		writeFields(&out, "", d)
	}
	return out.String()
}

// writeFields writes a row for each field of an object, and for those of objects in it.
func writeFields(out *strings.Builder, prefix string, s *jsonSchema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		shown := "`" + prefix + name + "`"
		if slices.Contains(s.Required, name) {
			shown = "**" + shown + "**"
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", shown, typeName(field),
			strings.ReplaceAll(field.Description, "|", "\\|"))
		writeFields(out, prefix+name+".", field)
		if field.Items != nil {
			writeFields(out, prefix+name+"[].", field.Items)
		}
	}
}

// typeName says what a field is, in a few words.
func typeName(s *jsonSchema) string {
	switch name, isRef := strings.CutPrefix(s.Ref, "#/definitions/"); {
	case isRef:
		return fmt.Sprintf("[%s](#%s)", name, name)
	case len(s.AllOf) == 1: // a reference with a description of its own
		return typeName(s.AllOf[0])
	case s.Items != nil:
		return "list of " + typeName(s.Items)
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	}
	return s.Type
}

// fileFormats are the files that Tandem writes: where the code says what they are.
var fileFormats = []struct {
	title, said string
	source      string // the file with the comment
	begins      string // of the comment
	constants   []string
}{
	{"Counterexamples", "`tandem check` and `tandem test` write them; `tandem replay`, `tandem show` and " +
		"`tandem debug` read them.", "report/recording.go", "Recording is a counterexample as a file",
		[]string{"version", "versionCache", "maxRecording"}},
	{"Counterexamples of nodes", "`tandem check` writes them where the configuration has nodes; " +
		"`tandem replay` and `tandem show` read them.", "report/nodesrecording.go",
		"NodesRecording is a counterexample",
		[]string{"versionNodes", "mostNodes"}},
	{"Kept answers", "The file of `--cache`, and `cache` in a saved run. `tandem cache FILE` prints it as " +
		"text.",
		"iocache/internal/codec/file.go", "A cache as a file is",
		[]string{"fileMagic", "fileVersion", "FrameHeader", "MaxFrame"}},
	{"Saved runs", "A directory below `~/.local/state/tandem/runs`, or that of `--run`. `--resume` reads it.",
		"check/internal/saved/run.go", "Run is a directory in which", nil},
	{"The state in a saved run", "It is a text up to the state of the search.",
		"check/internal/saved/state.go", "State is what is needed",
		[]string{"stateTitle", "stateVersion", "maxState"}},
}

// referenceOfFormats has the comments and the constants of what reads and writes files.
func referenceOfFormats(t *testing.T) string {
	var out strings.Builder
	out.WriteString("# Files that Tandem writes\n\nWhat is in them, and which versions there are. A " +
		"file of another version is refused, and the message\nsays so. " +
		"[Saved runs](../design/saved-runs.md) says why they are as they are.\n" + generated)
	for _, f := range fileFormats {
		comment, constants := commentsOf(t, f.source, f.begins, f.constants)
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n```text\n%s\n```\n", f.title,
			wrapped(f.said+" From `"+f.source+"`:"), comment)
		if len(f.constants) > 0 {
			out.WriteString("\n| constant | value |\n|---|---|\n")
		}
		for i, name := range f.constants {
			fmt.Fprintf(&out, "| `%s` | `%s` |\n", name, constants[i])
		}
	}
	return out.String()
}

// commentsOf returns the comment of a source file that begins with some words, and the values of
// constants.
func commentsOf(t *testing.T, source, begins string, names []string) (comment string, values []string) {
	files := token.NewFileSet()
	path := filepath.Join("../..", source)
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		if strings.HasPrefix(group.Text(), begins) {
			comment = strings.TrimSpace(strings.ReplaceAll(group.Text(), "\t", "    "))
		}
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
			for i, name := range spec.Names {
				value := spec.Values[i]
				begin, end := files.Position(value.Pos()), files.Position(value.End())
				found[name.Name] = string(text[begin.Offset:end.Offset])
			}
		}
		return true
	})
	for _, name := range names {
		values = append(values, found[name])
	}
	if comment == "" || slices.Contains(values, "") {
		t.Fatalf("%s has no comment that begins with %q, or not all of the constants %v", source, begins,
			names)
	}
	return comment, values
}
