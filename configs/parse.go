package configs

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/image"
)

// document is a file whose keys and shapes are right, with defaults filled in. Names of fields are
// keys of the file without case and underscores. Values are as they were written: config turns them
// into what they mean.
type document struct {
	Args         []string
	Env          []pair
	Group        groupKeys `mapstructure:",squash"`
	Strategy     string
	Backend      string
	Quiescence   string
	Scope        string
	Mask         []Mask
	Room         Room `mapstructure:",squash"`
	Bounds       Bounds
	PreemptIn    []string `mapstructure:"preempt_in"`
	Leaks        bool
	Races        string
	SelfCheck    string        `mapstructure:"self_check"`
	SaveInterval time.Duration `mapstructure:"save_interval"`
	PeerPatience time.Duration `mapstructure:"peer_patience"`
	Workers      int
	Date         string
	World        worldKeys `mapstructure:",squash"`
}

// groupKeys are the keys about the peers, at the top of the file. An absent ready_timeout is nil,
// since profiles have one, too.
type groupKeys struct {
	Peers        []peerEntry
	Nodes        []Node
	Agree        []string
	Exclusive    []string
	Prepare      []peers.Preparation
	Files        []fileEntry
	Hosts        []pair
	Absent       []string
	Binds        []pair
	ReadyTimeout *time.Duration `mapstructure:"ready_timeout"`
	AnyArrival   bool           `mapstructure:"any_arrival"`
}

// peerEntry is an entry under peers. What is nil or empty was not given. The last five keys
// are for profiles; the others take the place of what a profile has.
type peerEntry struct {
	Name    string
	Command []string
	Env     []pair
	// Listen is of a server: addresses with blanks in between. After and Expect are of a client:
	// what it waits for, and how it ends.
	Listen, After, Expect string
	// Choices and Clock make the peer repeatable: see peers.Peer.
	Choices *int
	Clock   string

	// As whom and where its process runs.
	WorkingDirectory string `mapstructure:"working_directory"`
	User, Group      string

	// Profile is the name of one; what follows are its parameters.
	Profile   string
	Image     string // in place of a profile; arguments are for it, too
	Port      *int
	Directory *string
	Program   *string
	Arguments []string
}

// fileEntry is an entry under files. What is nil was not given. One of content, base64 and from
// says what is in it; a directory has none of them.
type fileEntry struct {
	Path    string
	Content *string
	Base64  *string
	From    *string
	Mode    *string
}

// beside gets what a configuration refers to by the name of a file. Tests have some of their own,
// so that nothing is read from the disk.
type beside struct {
	read func(name string) ([]byte, error) // a file
	tree func(name string) fs.FS           // a directory; nil where there is none of that name
	// image describes a container image.
	image func(source string) (image.Description, error)
}

// parse reads the text of a file. There are two steps, and problems of the second are found only
// where the first has none: a value of the wrong shape has no meaning that could be judged.
func parse(file string, data []byte, b beside) (Config, error) {
	wrong := &Error{File: file}
	root, problem := rootOf(data)
	if problem != "" {
		wrong.Problems = []Problem{{What: problem}}
		return Config{}, wrong
	}
	r := &reader{lines: map[string]int{}}
	values, ok := r.value("", root, schema)
	if !ok {
		wrong.Problems = r.problems
		return Config{}, wrong.orNil()
	}
	doc, err := decode(values.(map[string]any))
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", file, err)
	}
	c, problems := doc.config(b)
	// The meaning is judged without the file, so the lines are looked up by the keys.
	for _, p := range append(problems, c.problems()...) {
		p.Line = r.lineOf(p.Key)
		r.problems = append(r.problems, p)
	}
	wrong.Problems = r.problems
	if err := wrong.orNil(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// rootOf finds the one mapping that a file consists of; an empty file is an empty mapping. The
// problem is empty if there is none. Aliases and merges are found later, where they are used.
func rootOf(data []byte) (root *yaml.Node, problem string) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	// The second one is only looked for.
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, ""
	}
	if err == nil {
		err = decoder.Decode(&next)
	}
	switch {
	case err == nil:
		return nil, "there is more than one YAML document: keep one"
	case !errors.Is(err, io.EOF):
		problem = "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")
		// Tabs elsewhere, as in a text, are no fault.
		isTab := strings.Contains(problem, "cannot start any token") ||
			strings.Contains(problem, "tab character")
		if isTab && bytes.Contains(data, []byte("\n\t")) {
			return nil, problem + "; use blanks, not tabs, at the beginning of a line"
		}
		return nil, problem + "; fix what is wrong there"
	}
	root = doc.Content[0]
	// A file of comments alone is null.
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, ""
	}
	if root.Kind != yaml.MappingNode {
		return nil, "the file is not a mapping: it starts with keys such as peers: or bounds:"
	}
	return root, ""
}

// decode fills in the defaults. The schema has seen to it that all keys are known and have the
// right shapes; so an error here is a fault of Tandem.
func decode(values map[string]any) (document, error) {
	// Keys that were not given get their defaults, also those inside of bounds.
	v := viper.New()
	defaults := Default()
	if nodes, _ := values["nodes"].([]any); len(nodes) > 0 {
		defaults.Bounds.Executions = NodesExecutions
	}
	v.SetDefault("strategy", defaults.Strategy)
	v.SetDefault("backend", defaults.Backend)
	v.SetDefault("quiescence", defaults.Quiescence)
	v.SetDefault("scope", defaults.Scope)
	v.SetDefault("cache_mib", defaults.CacheMib)
	v.SetDefault("checkpoint_mib", defaults.CheckpointMib)
	v.SetDefault("search_mib", defaults.SearchMib)
	v.SetDefault("races", strings.Join(defaults.Races, ","))
	v.SetDefault("self_check", strconv.Itoa(defaults.SelfCheck))
	v.SetDefault("save_interval", defaults.SaveInterval)
	v.SetDefault("peer_patience", defaults.PeerPatience)
	v.SetDefault("bounds.executions", defaults.Bounds.Executions)
	v.SetDefault("bounds.depth", defaults.Bounds.Depth)
	v.SetDefault("bounds.time", defaults.Bounds.Time)
	v.SetDefault("hostname", defaults.World.Hostname)
	v.SetDefault("disk_mib", defaults.World.Disk>>20)
	v.SetDefault("memory_mib", defaults.World.Memory>>20)
	v.SetDefault("signal_limit", defaults.World.SignalLimit)
	if err := v.MergeConfigMap(values); err != nil {
		return document{}, err
	}
	var doc document
	err := v.UnmarshalExact(&doc)
	bounds, _ := values["bounds"].(map[string]any)
	if _, given := bounds["executions"]; given {
		doc.Bounds.SetExecutions(doc.Bounds.Executions)
	}
	if _, given := bounds["time"]; given {
		doc.Bounds.SetTime(doc.Bounds.Time)
	}
	return doc, err
}

// lineOf is the line of a key or of the nearest key around it; 0 if that is the file as a whole. A
// profile may bring along what is wrong, and then the line is that of the entry.
func (r *reader) lineOf(key string) int {
	for key != "" {
		if line, ok := r.lines[key]; ok {
			return line
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// config turns the document into a Config, and says what could not be turned. What is wrong is left
// out of the Config, and the rest goes on, so that all problems are found at once.
func (d document) config(b beside) (Config, []Problem) {
	env, problems := environment("env", d.Env)
	c := Config{Args: d.Args, Env: env, Strategy: d.Strategy, Backend: d.Backend, Quiescence: d.Quiescence,
		Scope: d.Scope, Masks: d.Mask, Bounds: d.Bounds,
		Room:      d.Room,
		PreemptIn: d.PreemptIn, Leaks: d.Leaks, SaveInterval: d.SaveInterval, PeerPatience: d.PeerPatience,
		Workers: d.Workers}
	if len(d.Group.Nodes) > 0 { // an empty list is none
		c.Nodes = d.Group.Nodes
	}
	if len(d.Group.Agree) > 0 {
		c.Agree = d.Group.Agree
	}
	if len(d.Group.Exclusive) > 0 {
		c.Exclusive = d.Group.Exclusive
	}
	// What is wrong with faults is told with the world.
	if f, err := ParseFaults(d.World.Faults); err == nil {
		c.setMishaps(f)
	}
	var err error
	if c.SelfCheck, err = ParseSelfCheck(d.SelfCheck); err != nil {
		problems = append(problems, Problem{Key: "self_check", What: err.Error()})
	}
	if c.Races, err = ParseRaces(d.Races); err != nil {
		problems = append(problems, Problem{Key: "races", What: err.Error()})
	}
	// Without a date it stays zero: see Config.Date.
	if d.Date != "" {
		if c.Date, err = ParseDate(d.Date, time.Now()); err != nil {
			problems = append(problems, Problem{Key: "date", What: err.Error()})
		}
	}
	world, more := d.World.world(b.read)
	c.World, problems = world, append(problems, more...)
	if n := d.World.EarlyTimers; n != nil {
		c.SetEarlyTimers(*n)
	}
	group, more := d.Group.group(b)
	problems = append(problems, more...)
	c.World.Hosts, more = d.Group.hosts(group.Peers)
	problems = append(problems, more...)
	absent, wrong := parseAbsent(d.Group.Absent)
	c.Absent, problems = absent, append(problems, wrong...)
	if len(d.Group.Peers) > 0 {
		c.Group = &group
		return c, problems
	}
	// Such keys without peers would be ignored, and that is not what anybody means.
	const lonely = "it has no effect without peers: add some, or leave it out"
	if len(d.Group.Files) > 0 {
		problems = append(problems, Problem{Key: "files", What: lonely})
	}
	if len(d.Group.Binds) > 0 {
		problems = append(problems, Problem{Key: "binds", What: lonely})
	}
	if len(d.Group.Prepare) > 0 {
		problems = append(problems, Problem{Key: "prepare", What: lonely})
	}
	return c, problems
}

// group puts the peers together, each with what its profile brings along, and then the files and
// binds that the configuration itself has. Peers keep their order, which is that in which they are
// started.
func (d groupKeys) group(b beside) (peers.Group, []Problem) {
	if len(d.Peers) == 0 {
		return peers.Group{}, nil
	}
	g := peers.Group{AnyArrival: d.AnyArrival}
	var problems []Problem
	for i, p := range d.Peers {
		one, more := p.group(fmt.Sprintf("peers[%d]", i), b)
		problems = append(problems, more...)
		g = g.Merge(one)
	}
	// The files of the configuration come after those of profiles, and so take their place.
	own := peers.Group{Prepare: d.Prepare, Binds: map[string]string{}}
	// Files of the entries, with an index for what is wrong with each.
	for i, entry := range d.Files {
		files, key, err := entry.files(b)
		// now, when it is known which entry it is: the group has files of profiles, too
		for _, f := range files {
			if _, wrong := f.Below(peers.Scratch); wrong != nil && err == nil {
				key, err = ".path", wrong
			}
		}
		if err != nil {
			problems = append(problems, Problem{Key: fmt.Sprintf("files[%d]%s", i, key), What: err.Error()})
			continue
		}
		own.Files = append(own.Files, files...)
	}
	for _, b := range d.Binds {
		own.Binds[b.Key] = b.Value
	}
	g = g.Merge(own)
	switch {
	case d.ReadyTimeout != nil:
		g.ReadyTimeout = *d.ReadyTimeout
	case g.ReadyTimeout == 0:
		g.ReadyTimeout = peers.DefaultReadyTimeout
	}
	return g, problems
}

// files gets the content of a file, or of all files of a directory; an error is about the given key
// of the entry. Permissions are those of the entry, or else the default of peers; files of a
// directory keep theirs.
func (e fileEntry) files(b beside) (list []peers.File, key string, err error) {
	f := peers.File{Path: e.Path}
	sources := 0
	for _, s := range []*string{e.Content, e.Base64, e.From} {
		if s != nil {
			sources++
		}
	}
	switch {
	case e.Path == "":
		return nil, ".path", errors.New("it is missing or empty: say where the file goes, such as " +
			"{scratch}/www/index.html")
	case strings.HasSuffix(e.Path, "/") && sources > 0 && e.From == nil:
		return nil, ".path", errors.New("it ends with a slash, so that it names an empty directory, " +
			"which has no content: leave out one of them")
	case strings.HasSuffix(e.Path, "/") && sources == 0: // an empty directory
	case sources != 1:
		return nil, "", errors.New("give either content, the text of the file, or from, the file or " +
			"directory to copy (or base64); or end the path with a slash for an empty directory")
	case e.Content != nil:
		f.Content = []byte(*e.Content)
	case e.Base64 != nil:
		if f.Content, err = base64.StdEncoding.DecodeString(*e.Base64); err != nil {
			return nil, ".base64", fmt.Errorf("this is not in base 64: %w", err)
		}
	default:
		if directory := b.tree(*e.From); directory != nil {
			if e.Mode != nil {
				return nil, ".mode", fmt.Errorf("%s is a directory, whose files keep their modes: leave "+
					"it out", *e.From)
			}
			list, err = peers.CopyOf(directory, e.Path)
			return list, ".from", err
		}
		if f.Content, err = b.read(*e.From); err != nil {
			return nil, ".from", err
		}
	}
	if e.Mode != nil {
		// Mode 0 would be that of a file which nobody can read.
		bits, err := strconv.ParseUint(*e.Mode, 8, 32)
		if err != nil || bits == 0 || bits > 0o777 {
			return nil, ".mode", fmt.Errorf("%.64q is not allowed: give permissions in octal, from 0001 "+
				"to 0777, such as 0600", *e.Mode)
		}
		f.Mode = fs.FileMode(bits)
	}
	return []peers.File{f}, "", nil
}

// environment joins names and values. A name with = in it would become another one, and is reported
// under the given key.
func environment(key string, variables []pair) (entries []string, problems []Problem) {
	for _, v := range variables {
		if v.Key == "" || strings.Contains(v.Key, "=") {
			problems = append(problems, Problem{
				Key:  fmt.Sprintf("%s[%q]", key, v.Key),
				What: "this cannot be the name of a variable: it is empty or contains =; give it another one",
			})
			continue
		}
		entries = append(entries, v.Key+"="+v.Value)
	}
	return entries, problems
}
