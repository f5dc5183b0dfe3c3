package report

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schemaFile is the schema of what WriteJSON and WriteTestsJSON write, for readers.
const schemaFile = "../docs/report.schema.json"

// schema is the part of JSON Schema that ours uses to say what a field is.
type schema struct {
	Description     string
	Type            string
	ContentEncoding string
	Properties      map[string]*schema
	Required        []string
	Items           *schema
	AllOf           []*schema
	Ref             string `json:"$ref"`
	Definitions     map[string]*schema
}

// TestEveryFieldIsDocumented: the schema has exactly the fields that are written, with their types,
// says of each what it means, and requires those that are always there.
func TestEveryFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	c := comparer{t, root.Definitions, map[string]bool{}}
	// The root only says which of the two a document is: TestWrongTestsAreNotValid.
	c.compare("document", reflect.TypeFor[document](), &schema{Ref: "#/definitions/check"})
	c.compare("tests", reflect.TypeFor[testsDocument](), &schema{Ref: "#/definitions/tests"})
	for name := range root.Definitions {
		if !c.used[name] {
			t.Errorf("the definition %s describes nothing", name)
		}
	}
}

// comparer compares types with a schema.
type comparer struct {
	*testing.T
	definitions map[string]*schema
	used        map[string]bool // definitions
}

// compare compares a type with what the schema says of it.
func (c comparer) compare(path string, typ reflect.Type, s *schema) {
	if s == nil {
		c.Errorf("%s is not in the schema", path)
		return
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	// A reference beside a description is in allOf: the draft ignores what is beside a reference.
	ref := s.Ref
	if len(s.AllOf) == 1 {
		ref = s.AllOf[0].Ref
	}
	if ref != "" {
		name := strings.TrimPrefix(ref, "#/definitions/")
		seen := c.used[name]
		if s, c.used[name] = c.definitions[name], true; seen && s != nil {
			return
		}
		c.compare(path, typ, s)
		return
	}
	// Bytes are a slice, too, but text in JSON.
	bytes := reflect.TypeFor[[]byte]()
	want := map[reflect.Kind]string{reflect.Struct: "object", reflect.Slice: "array", reflect.Int: "integer",
		reflect.Float64: "number", reflect.Bool: "boolean", reflect.String: "string"}[typ.Kind()]
	if typ == bytes {
		want = "string"
	}
	if s.Type != want || (s.ContentEncoding == "base64") != (typ == bytes) {
		c.Errorf("%s is %s in the schema, and %v in Go", path, cmp.Or(s.Type, "of no type"), typ)
	}
	switch {
	case want == "array":
		c.compare(path+"[]", typ.Elem(), s.Items)
	case want == "object":
		c.object(path, typ, s)
	}
}

// object compares the fields of a struct.
func (c comparer) object(path string, typ reflect.Type, s *schema) {
	if s.Description == "" {
		c.Errorf("%s is not described", path)
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(typ) {
		// What is embedded has its fields among the visible ones.
		if f.Anonymous {
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
		here := path + "." + name
		if p := s.Properties[name]; p != nil && !strings.HasSuffix(p.Description, ".") {
			c.Errorf("%s is not described in a sentence", here)
		}
		c.compare(here, f.Type, s.Properties[name])
		// What is embedded by a pointer may not be there.
		always := option == "" && len(f.Index) == 1
		if always != slices.Contains(s.Required, name) {
			c.Errorf("%s is always there: %t, and the schema says otherwise", here, always)
		}
	}
	// The other direction: a field that was taken away is still described.
	for name := range s.Properties {
		if !known[name] {
			c.Errorf("%s.%s is in the schema only", path, name)
		}
	}
	for _, name := range s.Required {
		if !known[name] {
			c.Errorf("%s.%s is required, and never there", path, name)
		}
	}
}

// TestSchemaKinds: the schema has every kind of event that nodes have.
func TestSchemaKinds(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "What it does; pass is an advance of the clock")
	list, _, _ := strings.Cut(after, "]")
	for _, kind := range NodeEventKinds {
		if !strings.Contains(list, strconv.Quote(kind)) {
			t.Errorf("%s has no kind %s", schemaFile, kind)
		}
	}
}
