package configs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// field says what a key may hold. The schema is a tree of these.
type field struct {
	shape  shape
	fields map[string]field // of a record
	// path says that it names a file or directory, beside the file unless it is absolute.
	path bool
}

// shape is what kind of value a key has.
type shape uint8

// The shapes.
const (
	text     shape = iota // a scalar, taken literally: 2 and "2" are the same
	integer               // a decimal number
	truth                 // true or false
	duration              // such as 10s or 1h30m
	texts                 // a list of text
	words                 // a text, or a list of texts, which becomes one with blanks in between
	pairs                 // a mapping from text to text; becomes a list of pair
	record                // a mapping with the given fields
	records               // a list of such mappings
)

// String is the shape in the words of messages.
func (s shape) String() string {
	return [...]string{
		text:     "a text",
		integer:  "a number",
		truth:    "true or false",
		duration: "a duration such as 10s or 1h30m",
		texts:    "a list of texts",
		words:    "a text or a list of texts",
		pairs:    "a mapping from text to text",
		record:   "a mapping",
		records:  "a list of mappings",
	}[s]
}

// schema is the whole of what a file may say. What a value means is judged elsewhere: see
// document.config and Config.problems.
var schema = field{shape: record, fields: map[string]field{
	// The program: its arguments, where the command line has none, and its environment.
	"args": {shape: texts},
	"env":  {shape: pairs},
	// The peers, in the order in which they are started. An entry describes a server or a client,
	// or names a profile that does.
	"peers": {shape: records, fields: map[string]field{
		"name":    {shape: text},
		"command": {shape: texts},
		"image":   {shape: text, path: true}, // or one of a local engine
		"env":     {shape: pairs},
		"listen":  {shape: words},

		// As whom, and where, its process runs. The default is root, in a scratch directory.
		"working_directory": {shape: text},
		"user":              {shape: text},
		"group":             {shape: text},

		// What it may see: so many variants of random numbers, and a virtual clock or the
		// machine's. Of a client: what it waits for, and how it is to end.
		"choices": {shape: integer},
		"clock":   {shape: text},
		"after":   {shape: text},
		"expect":  {shape: text},

		// The profile, and what can be said of it.
		"profile":   {shape: text},
		"port":      {shape: integer},
		"directory": {shape: text, path: true},
		"program":   {shape: text, path: true},
		"arguments": {shape: texts},
	}},
	// Programs that are checked together.
	"nodes": {shape: records, fields: map[string]field{
		"name":    {shape: text},
		"package": {shape: text},
		"args":    {shape: texts},
		"listen":  {shape: words},
		"group":   {shape: text},
	}},
	"agree":     {shape: texts}, // what they publish
	"exclusive": {shape: texts},
	// What the peers find on the disk: made by commands before they start, or given as content.
	"prepare": {shape: records, fields: map[string]field{
		"path":     {shape: text},
		"command":  {shape: texts},
		"programs": {shape: texts},
	}},
	"files": {shape: records, fields: map[string]field{
		"path":    {shape: text},
		"content": {shape: text},
		"base64":  {shape: text},
		"from":    {shape: text, path: true},
		"mode":    {shape: text},
	}},
	// How the program finds the peers, and how long they may take until they are ready.
	"hosts":         {shape: pairs},
	"binds":         {shape: pairs},
	"absent":        {shape: texts}, // where nobody is on purpose
	"ready_timeout": {shape: duration},
	"any_arrival":   {shape: truth},
	// How the peers are taken back, and when their answers count as the same. Sizes are in MiB.
	"strategy":       {shape: text},
	"backend":        {shape: text},
	"quiescence":     {shape: text},
	"scope":          {shape: text},
	"cache_mib":      {shape: integer},
	"checkpoint_mib": {shape: integer},
	"mask": {shape: records, fields: map[string]field{
		"peer":    {shape: text},
		"pattern": {shape: text},
	}},
	// How much is explored.
	"bounds": {shape: record, fields: map[string]field{
		"executions":  {shape: integer},
		"depth":       {shape: integer},
		"time":        {shape: duration},
		"preemptions": {shape: integer},
		"delays":      {shape: integer},
	}},
	// Which packages are preempted or watched, what else is a violation, and how much is checked
	// twice.
	"preempt_in": {shape: texts},
	"leaks":      {shape: truth},
	"races":      {shape: text},
	"self_check": {shape: text},
	"workers":    {shape: integer},

	// How often a check is saved, so that it can be resumed.
	"save_interval": {shape: duration},

	// What the program and the peers find: time, faults of the network, input, sizes of the disk
	// and the memory in MiB, signals, and short reads and writes.
	"early_timers":  {shape: integer},
	"peer_timers":   {shape: integer},
	"peer_patience": {shape: duration},
	"faults":        {shape: words},
	"date":          {shape: text},
	"stdin":         {shape: text},
	"stdin_from":    {shape: text, path: true},
	"hostname":      {shape: text},
	"disk_mib":      {shape: integer},
	"memory_mib":    {shape: integer},
	"search_mib":    {shape: integer},
	"signals":       {shape: texts},
	"signal_limit":  {shape: integer},
	"short_reads":   {shape: integer},
	"short_writes":  {shape: integer},
}}

// pair is an entry of a mapping whose keys are the user's. Such mappings are kept
// as lists: the case of a key matters (viper would lower it), and so may the order.
type pair struct{ Key, Value string }

// reader turns YAML nodes into values of the schema, and notes what is wrong. It does so itself,
// and not the decoder of the YAML library, which knows no lines of values, and takes yes for true.
type reader struct {
	lines    map[string]int // of keys, such as peers[0].listen
	problems []Problem
}

// report notes what is wrong at a node. Reading goes on, so that all problems are found at once.
func (r *reader) report(key string, n *yaml.Node, format string, a ...any) {
	r.problems = append(r.problems, Problem{Line: n.Line, Key: key, What: fmt.Sprintf(format, a...)})
}

// value reads what a key holds; ok is false if it was wrong and has been reported. Its line is kept
// for problems that are found later.
func (r *reader) value(key string, n *yaml.Node, f field) (value any, ok bool) {
	r.lines[key] = n.Line
	switch f.shape {
	case texts:
		return r.texts(key, n)
	// A single text is taken as it is.
	case words:
		if n.Kind == yaml.SequenceNode {
			list, ok := r.texts(key, n)
			return strings.Join(list.([]string), " "), ok
		}
	case pairs:
		return r.pairs(key, n)
	case record:
		return r.record(key, n, f.fields)
	case records:
		return r.records(key, n, f.fields)
	}
	s, ok := r.text(key, n, f.shape)
	if !ok {
		return nil, false
	}
	var err error
	switch value = s; f.shape {
	case integer:
		value, err = strconv.Atoi(s)
	case truth:
		if value = s == "true"; s != "true" && s != "false" {
			err = strconv.ErrSyntax
		}
	case duration:
		value, err = time.ParseDuration(s)
	}
	if err != nil {
		r.report(key, n, "%.64q is not %v: write one", s, f.shape)
		return nil, false
	}
	return value, true
}

// text reads a scalar of any plain type, literally: 0600 is not 384, and yes is not true. The shape
// is what is wanted, for the message.
func (r *reader) text(key string, n *yaml.Node, want shape) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.report(key, n, "anchors and aliases are not supported: write the value out")
	case n.Kind != yaml.ScalarNode:
		r.report(key, n, "this is %s: give %v", kindName(n), want)
	case n.Tag == "!!null":
		r.report(key, n, "there is no value: give %v, or leave the key out", want)
	case !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}, n.Tag):
		r.report(key, n, "the tag %s is not supported: write plain text", n.Tag)
	default:
		return n.Value, true
	}
	return "", false
}

// children checks the kind of a collection and returns what it holds. Of a mapping that is the keys
// and values in turns.
func (r *reader) children(key string, n *yaml.Node, kind yaml.Kind, want shape) ([]*yaml.Node, bool) {
	if n.Kind == kind && n.Anchor == "" {
		return n.Content, true
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.report(key, n, "anchors and aliases are not supported: write the value out")
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		r.report(key, n, "there is no value: give %v, or leave the key out", want)
	default:
		r.report(key, n, "this is %s: give %v", kindName(n), want)
	}
	return nil, false
}

// kindName is what a node is, in the words of messages.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return fmt.Sprintf("the text %.40q", n.Value)
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a mapping"
	}
}

// texts reads a list of texts. All elements are read, also after one that is wrong.
func (r *reader) texts(key string, n *yaml.Node) (any, bool) {
	children, ok := r.children(key, n, yaml.SequenceNode, texts)
	// It is returned also where something was wrong: callers look at ok.
	list := make([]string, len(children))
	for i, child := range children {
		at := fmt.Sprintf("%s[%d]", key, i)
		r.lines[at] = child.Line
		s, valid := r.text(at, child, text)
		list[i], ok = s, ok && valid
	}
	return list, ok
}

// pairs reads a mapping from text to text, in the order of the file. A name that is given twice is
// a problem: YAML itself would take the last one.
func (r *reader) pairs(key string, n *yaml.Node) (any, bool) {
	children, ok := r.children(key, n, yaml.MappingNode, pairs)
	var list []pair
	// Names are told apart by their case.
	seen := map[string]bool{}
	for i := 0; i < len(children); i += 2 {
		name, valid := r.text(key, children[i], text)
		at := fmt.Sprintf("%s[%q]", key, name)
		r.lines[at] = children[i].Line
		if valid && seen[name] {
			r.report(at, children[i], "it is given twice: keep one")
		}
		seen[name] = true
		value, validValue := r.text(at, children[i+1], text)
		list, ok = append(list, pair{name, value}), ok && valid && validValue
	}
	return list, ok
}

// records reads a list of mappings that have the same fields.
func (r *reader) records(key string, n *yaml.Node, fields map[string]field) (any, bool) {
	children, ok := r.children(key, n, yaml.SequenceNode, records)
	list := make([]any, len(children))
	for i, child := range children {
		at := fmt.Sprintf("%s[%d]", key, i)
		r.lines[at] = child.Line
		value, valid := r.record(at, child, fields)
		list[i], ok = value, ok && valid
	}
	return list, ok
}

// record reads a mapping. A key that is not known is reported, with the one that may have been
// meant. Its values are those of the known keys.
func (r *reader) record(key string, n *yaml.Node, fields map[string]field) (any, bool) {
	children, ok := r.children(key, n, yaml.MappingNode, record)
	// Keys that are wrong are reported, and not taken.
	values := map[string]any{}
	for i := 0; i < len(children); i += 2 {
		name := children[i].Value
		at := strings.TrimPrefix(key+"."+printable(name), ".")
		f, known := fields[name]
		_, twice := values[name]
		switch {
		case !known:
			r.report(at, children[i], "there is no such key%s", suggestion(name, fields))
			ok = false
		case twice:
			r.report(at, children[i], "it is given twice: keep one")
			ok = false
		default:
			value, valid := r.value(at, children[i+1], f)
			// The value has set the line of its own; the key may stand above it.
			r.lines[at] = children[i].Line
			values[name], ok = value, ok && valid
		}
	}
	return values, ok
}

// printable is the name of a key as it may stand in a message of one line. Names that contain
// nothing to be escaped stay as they are.
func printable(name string) string {
	quoted := fmt.Sprintf("%.64q", name)
	if quoted == `"`+name+`"` && name != "" {
		return name
	}
	return quoted
}

// suggestion names the nearest known key if one is near, and all of them. Near is at most a third
// of the letters, or two.
func suggestion(name string, fields map[string]field) string {
	known := slices.Sorted(maps.Keys(fields))
	// Of names that are as near, the first in the alphabet.
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
	all := "; write one of " + strings.Join(known, ", ")
	if distance(name, nearest) > max(2, len(nearest)/3) {
		return all
	}
	return ": did you mean " + nearest + "?" + all
}

// distance is the number of bytes to insert, delete or replace to make b of a (Levenshtein). Names
// of keys are short; what is longer than 64 bytes is far. Only one row of the table of distances is
// kept (Wagner and Fischer, The String-to-String Correction Problem, 1974).
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		// What stood at the upper left of the present place in the table.
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
