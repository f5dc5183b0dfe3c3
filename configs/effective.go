package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
)

// Effective is a configuration as a user sees it: all keys that have a value, and where each value
// is from. It is a value that does not change.
type Effective struct {
	keys []effectiveKey
}

// effectiveKey is a key with its value.
type effectiveKey struct {
	// name is without the key around it only in the text.
	name  string // such as strategy, or bounds.time
	value *yaml.Node
	from  string // such as tandem.yaml:3, --strategy or default
	// silent is a default that would mean something else if it stood in a file. With a time that is
	// asked for, for instance, there is no number of executions; and the date of today is not that
	// of tomorrow.
	silent bool
}

// defaulted is where a value is from that nobody gave.
const defaulted = "default"

// effectiveOrder is the order in which keys are shown. It has all keys of the schema.
var effectiveOrder = []string{
	// The program and what it finds.
	"args", "env", "stdin", "stdin_from", "hostname", "date",
	// The peers and what they find.
	"nodes", "agree", "exclusive", "peers", "prepare", "files", "binds", "hosts", "absent", "ready_timeout",
	"any_arrival",
	"strategy", "backend", "quiescence", "scope", "peer_patience", "mask", "cache_mib", "checkpoint_mib",
	// What is explored, and how far.
	"bounds.executions", "bounds.depth", "bounds.time", "bounds.preemptions", "bounds.delays",
	"early_timers", "peer_timers", "faults", "signals", "signal_limit", "short_reads", "short_writes",
	"disk_mib", "memory_mib", "search_mib",
	// What is watched, and how it is run.
	"preempt_in", "races", "leaks", "self_check", "workers", "save_interval",
}

// EffectiveOf describes a configuration that was loaded from a file, or from none if the name is
// empty, and whose values may have been changed since. Changed has, by their keys, where the values
// are from that are not those of the file. Paths in it become absolute, so that it means the same
// anywhere. An error is one of reading the file, which is read again.
func EffectiveOf(c Config, file string, changed map[string]string) (e Effective, err error) {
	given, lines := map[string]*yaml.Node{}, map[string]int{}
	if file != "" {
		if given, lines, err = keysOf(file); err != nil {
			return e, err
		}
	}
	now := scalarsOf(c)
	for _, key := range effectiveOrder {
		value, isScalar := now[key]
		written, inFile := given[key]
		from, isChanged := changed[key]
		switch {
		case !isChanged && inFile:
			from = fmt.Sprintf("%s:%d", filepath.Base(file), lines[key])
		case !isChanged:
			from = defaulted
		}
		// Values that flags cannot change are shown as they were written.
		if !isScalar {
			value = written
		}
		if value == nil {
			continue
		}
		e.keys = append(e.keys, effectiveKey{key, value, from, false})
	}
	e.silence(c)
	return e, nil
}

// silence finds the defaults that must not stand in a file, and says of each what it is.
func (e *Effective) silence(c Config) {
	for i := range e.keys {
		key := &e.keys[i]
		if key.from != defaulted {
			continue
		}
		switch {
		case key.name == "bounds.executions" && c.Bounds.Executions == MaxExecutions:
			key.silent, key.from = true, "default: as many as there is time for"
		case key.name == "bounds.executions" || key.name == "bounds.time":
			// A time in a file lifts the default number of executions.
			key.silent = !c.Bounds.ExecutionsAsked
		case key.name == "date":
			key.silent, key.from = true, "default: the end of this day, by UTC"
		case key.name == "early_timers":
			key.silent, key.from = true, "default: the search decides"
		case key.name == "workers":
			key.from = "default: the search decides"
		}
	}
}

// keysOf are the keys of a file, those of bounds by themselves, and the lines where they are. The
// values have no comments, and their paths are absolute. The file is one that was loaded before.
func keysOf(file string) (keys map[string]*yaml.Node, lines map[string]int, err error) {
	data, err := readFile(file, MaxFileSize)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	root, problem := rootOf(data)
	r := &reader{lines: map[string]int{}}
	if problem == "" {
		if _, ok := r.value("", root, schema); ok {
			dir, err := filepath.Abs(filepath.Dir(file))
			keys = map[string]*yaml.Node{}
			schema.collect("", root, dir, keys)
			return keys, r.lines, err
		}
		// Somebody has written to it since it was loaded.
		problem = "it has changed and is wrong now"
	}
	return nil, nil, fmt.Errorf("%s: %s: run the command again", file, problem)
}

// collect puts the values of a mapping at the top, or of bounds, under their names.
func (f field) collect(prefix string, n *yaml.Node, dir string, keys map[string]*yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		if below := f.fields[name]; below.shape == record {
			below.collect(prefix+name+".", value, dir, keys)
		} else {
			keys[prefix+name] = below.clean(value, dir)
		}
	}
}

// clean is a value without comments, and with absolute paths.
func (f field) clean(n *yaml.Node, dir string) *yaml.Node {
	own := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	// Names of images of an engine are no paths.
	if f.path && n.Kind == yaml.ScalarNode && !filepath.IsAbs(n.Value) && !isOfEngine(n.Value) {
		own.SetString(filepath.Join(dir, n.Value))
	}
	for i, child := range n.Content {
		below := f
		// Entries of a list of records have the fields of f.
		switch {
		case f.shape == records && n.Kind == yaml.MappingNode && i%2 == 1:
			below = f.fields[n.Content[i-1].Value]
		case f.shape != records:
			below = field{path: f.path} // an element of a list, or of a mapping from text to text
		}
		own.Content = append(own.Content, below.clean(child, dir))
	}
	return own
}

// scalarsOf are the values that flags can change, and those with defaults. What has no value is
// nil, and then so is the key.
func scalarsOf(c Config) map[string]*yaml.Node {
	values := map[string]any{
		"hostname": c.World.Hostname, "strategy": c.Strategy, "backend": c.Backend,
		"quiescence": c.Quiescence, "scope": c.Scope, "peer_patience": c.PeerPatience.String(),
		"cache_mib": c.CacheMib, "checkpoint_mib": c.CheckpointMib, "bounds.executions": c.Bounds.Executions,
		"bounds.depth": c.Bounds.Depth, "bounds.time": c.Bounds.Time.String(), "leaks": c.Leaks,
		"early_timers": c.World.EarlyTimers, "peer_timers": c.World.PeerTimers, "faults": faultsOf(c),
		"signal_limit": c.World.SignalLimit, "short_reads": c.World.ShortReads,
		"short_writes": c.World.ShortWrites, "disk_mib": c.World.Disk >> 20,
		"memory_mib": c.World.Memory >> 20, "search_mib": c.SearchMib, "workers": c.Workers,
		"save_interval": c.SaveInterval.String(),
		"races":         "off", "self_check": strconv.Itoa(c.SelfCheck),
	}
	if len(c.Races) > 0 {
		values["races"] = strings.Join(c.Races, ",")
	}
	// Words stand for two of the numbers.
	switch c.SelfCheck {
	case 0:
		values["self_check"] = "off"
	case 1:
		values["self_check"] = "all"
	}
	// What is left out is none, or any number.
	if len(c.Args) > 0 {
		values["args"] = c.Args
	}
	if !c.Date.IsZero() {
		values["date"] = c.Date.UTC().Format("2006-01-02T15:04:05Z07:00")
	}
	if len(c.PreemptIn) > 0 {
		values["preempt_in"] = c.PreemptIn
	}
	if n := c.Bounds.Preemptions; n != nil {
		values["bounds.preemptions"] = *n
	}
	if n := c.Bounds.Delays; n != nil {
		values["bounds.delays"] = *n
	}
	// Their names are those that the file had, since each signal has one.
	var signals []string
	for _, s := range c.World.Signals {
		signals = append(signals, unix.SignalName(s))
	}
	if len(signals) > 0 {
		values["signals"] = signals
	}
	// These are nil where they have no value: what stands in the file must not count for them.
	nodes := map[string]*yaml.Node{"args": nil, "date": nil, "preempt_in": nil, "bounds.preemptions": nil,
		"bounds.delays": nil, "signals": nil}
	for key, value := range values {
		nodes[key] = nodeOf(value)
	}
	// A file is read literally, so these need no quotes.
	for _, key := range []string{"date", "faults", "self_check"} {
		if n := nodes[key]; n != nil {
			n.Tag, n.Style = "", 0
		}
	}
	return nodes
}

// faultsOf are those of the network, as ParseFaults reads them.
func faultsOf(c Config) string {
	// Where the network may only be parted, or nodes crash, the world has no other faults.
	limit := max(c.World.Faults, c.CrashLimit, c.PauseLimit, c.Slow, c.PartitionLimit)
	if limit == 0 && len(c.Partitions) > 0 {
		limit = 1
	}
	words := append([]string{strconv.Itoa(limit)}, c.World.FaultKinds...)
	for _, p := range c.Partitions {
		words = append(words, strings.TrimSuffix("partition="+p, "="+anyNode))
	}
	for _, name := range c.Crashes {
		words = append(words, strings.TrimSuffix("crash="+name, "="+anyNode))
	}
	for _, name := range c.Pauses {
		words = append(words, strings.TrimSuffix("pause="+name, "="+anyNode))
	}
	if c.Slow > 0 {
		words = append(words, "slow")
	}
	for _, operation := range c.World.FaultOperations {
		words = append(words, "on="+operation)
	}
	for _, peer := range c.World.FaultPeers {
		words = append(words, "peer="+peer)
	}
	return strings.Join(words, ",")
}

// nodeOf is a value in YAML. Lists of texts are on one line.
func nodeOf(value any) *yaml.Node {
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil {
		panic(err) // texts, numbers and lists of texts can be encoded
	}
	if n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	return n
}

// sourceColumn is where the comments with the sources begin, if there is room.
const sourceColumn = 40

// YAML is the text of a file that means the same. Comments say where each value is from. Defaults
// that would mean something else in a file are comments, too.
func (e Effective) YAML() ([]byte, error) {
	var out bytes.Buffer
	// All bounds are next to each other, and some of them always have a value that is not silent.
	inBounds := false
	for _, key := range e.keys {
		name, indent := key.name, ""
		if below, isBound := strings.CutPrefix(name, "bounds."); isBound {
			if name, indent = below, "  "; !inBounds {
				out.WriteString("bounds:\n")
			}
			inBounds = true
		}
		text, err := encode(name, key.value)
		if err != nil {
			return nil, err
		}
		// A value of several lines has the comment in front: at its end nobody would look for it.
		if bytes.Count(text, []byte("\n")) > 1 {
			fmt.Fprintf(&out, "# %s\n%s", key.from, text)
			continue
		}
		line := strings.TrimSuffix(string(text), "\n")
		if key.silent {
			line = "# " + line
		}
		fmt.Fprintf(&out, "%-*s # %s\n", sourceColumn, indent+line, key.from)
	}
	return out.Bytes(), nil
}

// encode is one key and its value as YAML.
func encode(name string, value *yaml.Node) ([]byte, error) {
	key := &yaml.Node{}
	key.SetString(name)
	// The encoder ends the text with a newline.
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}})
	return out.Bytes(), err
}

// JSON is an object with an entry for each key, by its whole name: its value, and where that is
// from. Values that are silent in YAML are there.
func (e Effective) JSON() ([]byte, error) {
	// Numbers and truths are such in JSON, too; durations are texts.
	type entry struct {
		Value any    `json:"value"`
		From  string `json:"from"`
	}
	all := map[string]entry{}
	for _, key := range e.keys {
		var value any
		if err := key.value.Decode(&value); err != nil {
			return nil, err
		}
		all[key.name] = entry{value, key.from}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return append(text, '\n'), err
}

// Keys are the names of all keys, in the order in which they are shown. Those of bounds have bounds
// and a dot in front.
func Keys() []string { return slices.Clone(effectiveOrder) }
