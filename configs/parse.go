package configs

import (
	"bytes"
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
)

// document is a file whose keys and shapes are right, with defaults filled in.
type document struct {
	Args         []string
	Env          []pair
	Peers        []peerEntry
	Files        []fileEntry
	Hosts        []pair
	Binds        []pair
	ReadyTimeout time.Duration `mapstructure:"ready_timeout"`
	Strategy     string
	Backend      string
	Scope        string
	Bounds       Bounds
	PreemptIn    []string `mapstructure:"preempt_in"`
	Leaks        bool
	Races        string
	SelfCheck    string        `mapstructure:"self_check"`
	SaveInterval time.Duration `mapstructure:"save_interval"`
	Workers      int
	World        worldKeys `mapstructure:",squash"`
}

type peerEntry struct {
	Name    string
	Command []string
	Env     []pair
	Listen  string
	Choices *int
}

type fileEntry struct {
	Path    string
	Content *string
	From    *string
	Mode    *string
}

// parse reads the text of a file; read gets the content for "from".
func parse(file string, data []byte, read func(name string) ([]byte, error)) (Config, error) {
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
	c, problems := doc.config(read)
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

// rootOf finds the one mapping that a file consists of; an empty file is an empty
// mapping.
func rootOf(data []byte) (root *yaml.Node, problem string) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
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
		return nil, "this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")
	}
	root = doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, ""
	}
	if root.Kind != yaml.MappingNode {
		return nil, "the file is not a mapping: it starts with keys such as peers: or bounds:"
	}
	return root, ""
}

// decode fills in the defaults.
func decode(values map[string]any) (document, error) {
	v := viper.New()
	defaults := Default()
	v.SetDefault("strategy", defaults.Strategy)
	v.SetDefault("backend", defaults.Backend)
	v.SetDefault("scope", defaults.Scope)
	v.SetDefault("races", strings.Join(defaults.Races, ","))
	v.SetDefault("self_check", strconv.Itoa(defaults.SelfCheck))
	v.SetDefault("save_interval", defaults.SaveInterval)
	v.SetDefault("bounds.executions", defaults.Bounds.Executions)
	v.SetDefault("bounds.depth", defaults.Bounds.Depth)
	v.SetDefault("bounds.time", defaults.Bounds.Time)
	v.SetDefault("ready_timeout", peers.DefaultReadyTimeout)
	v.SetDefault("hostname", defaults.World.Hostname)
	v.SetDefault("disk_mib", defaults.World.Disk>>20)
	v.SetDefault("memory_mib", defaults.World.Memory>>20)
	v.SetDefault("signal_limit", defaults.World.SignalLimit)
	if err := v.MergeConfigMap(values); err != nil {
		return document{}, err
	}
	var doc document
	return doc, v.UnmarshalExact(&doc)
}

// lineOf is the line of a key or of the nearest key around it.
func (r *reader) lineOf(key string) int {
	for key != "" {
		if line, ok := r.lines[key]; ok {
			return line
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// config turns the document into a Config, and says what could not be turned.
func (d document) config(read func(string) ([]byte, error)) (Config, []Problem) {
	env, problems := environment("env", d.Env)
	c := Config{Args: d.Args, Env: env, Strategy: d.Strategy, Backend: d.Backend, Scope: d.Scope, Bounds: d.Bounds, PreemptIn: d.PreemptIn, Leaks: d.Leaks, SaveInterval: d.SaveInterval, Workers: d.Workers}
	var err error
	if c.SelfCheck, err = ParseSelfCheck(d.SelfCheck); err != nil {
		problems = append(problems, Problem{Key: "self_check", What: err.Error()})
	}
	if c.Races, err = ParseRaces(d.Races); err != nil {
		problems = append(problems, Problem{Key: "races", What: err.Error()})
	}
	world, more := d.World.world(read)
	c.World, problems = world, append(problems, more...)
	c.World.Hosts, more = d.hosts()
	problems = append(problems, more...)
	if len(d.Peers) > 0 {
		group, more := d.group(read)
		c.Group = &group
		return c, append(problems, more...)
	}
	const lonely = "it has no effect without peers: add some, or leave it out"
	if len(d.Files) > 0 {
		problems = append(problems, Problem{Key: "files", What: lonely})
	}
	if len(d.Binds) > 0 {
		problems = append(problems, Problem{Key: "binds", What: lonely})
	}
	return c, problems
}

func (d document) group(read func(string) ([]byte, error)) (peers.Group, []Problem) {
	g := peers.Group{Binds: map[string]string{}, ReadyTimeout: d.ReadyTimeout}
	var problems []Problem
	for i, p := range d.Peers {
		env, more := environment(fmt.Sprintf("peers[%d].env", i), p.Env)
		problems = append(problems, more...)
		peer := peers.Peer{Name: p.Name, Command: p.Command, Env: env, Listen: p.Listen}
		if p.Choices != nil {
			if err := within(*p.Choices, peers.MaxChoices); err != nil {
				problems = append(problems, Problem{Key: fmt.Sprintf("peers[%d].choices", i), What: err.Error()})
			} else {
				peer.Choices = *p.Choices
			}
		}
		g.Peers = append(g.Peers, peer)
	}
	for i, entry := range d.Files {
		f, key, err := entry.file(read)
		if err != nil {
			problems = append(problems, Problem{Key: fmt.Sprintf("files[%d]%s", i, key), What: err.Error()})
			continue
		}
		g.Files = append(g.Files, f)
	}
	for _, b := range d.Binds {
		g.Binds[b.Key] = b.Value
	}
	return g, problems
}

// file gets the content of a file; an error is about the given key of the entry.
func (e fileEntry) file(read func(string) ([]byte, error)) (f peers.File, key string, err error) {
	f.Path = e.Path
	switch {
	case e.Path == "":
		return f, ".path", errors.New("it is missing or empty: say where the file goes, such as {scratch}/www/index.html")
	case (e.Content == nil) == (e.From == nil):
		return f, "", errors.New("give either content, the text of the file, or from, the file to copy")
	case e.Content != nil:
		f.Content = []byte(*e.Content)
	default:
		if f.Content, err = read(*e.From); err != nil {
			return f, ".from", err
		}
	}
	if e.Mode != nil {
		bits, err := strconv.ParseUint(*e.Mode, 8, 32)
		if err != nil || bits == 0 || bits > 0o777 {
			return f, ".mode", fmt.Errorf("%.64q is not allowed: give permissions in octal, from 0001 to 0777, such as 0600", *e.Mode)
		}
		f.Mode = fs.FileMode(bits)
	}
	return f, "", nil
}

// environment joins names and values. A name with = in it would become another.
func environment(key string, variables []pair) (entries []string, problems []Problem) {
	for _, v := range variables {
		if v.Key == "" || strings.Contains(v.Key, "=") {
			problems = append(problems, Problem{
				Key:  fmt.Sprintf("%s[%q]", key, v.Key),
				What: "this cannot be the name of a variable: it is empty or contains =",
			})
			continue
		}
		entries = append(entries, v.Key+"="+v.Value)
	}
	return entries, problems
}
