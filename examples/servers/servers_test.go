// Package servers_test checks ordinary clients of real servers, each with a bug and without.
package servers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
)

const tandem = "../../bin/tandem"

var (
	executions = flag.Int("executions", 200,
		"most executions of a program without its bug, where finding that has not taken more")
	most   = flag.String("most", "60s", "most time for each check")
	update = flag.Bool("update", false, "put the table into README.md")
)

// program is a client and the server that it is checked with.
type program struct {
	directory, config string // the configuration is config.yaml in the directory
	client, server    string
	args              []string
	flags             []string // of tandem
	// open says why it does not work yet. It is then a row of the table, and not checked.
	open string
}

var programs = []program{
	{directory: "pgx", client: "jackc/pgx", server: "PostgreSQL"},
	{directory: "pq", client: "lib/pq", server: "PostgreSQL"},
	{directory: "mysql", client: "go-sql-driver/mysql", server: "MariaDB"},
	{directory: "dns", config: "dnsmasq", client: "miekg/dns, UDP", server: "dnsmasq"},
	{directory: "dns", config: "dnsmasq", client: "miekg/dns, TCP", server: "dnsmasq",
		args: []string{"-net", "tcp"}},
	{directory: "dns", config: "unbound", client: "miekg/dns, UDP", server: "Unbound"},
	{directory: "dns", config: "unbound", client: "miekg/dns, TCP", server: "Unbound",
		args: []string{"-net", "tcp"}},
	{directory: "dns", config: "bind", client: "miekg/dns, UDP", server: "BIND"},
	{directory: "dns", config: "bind", client: "miekg/dns, TCP", server: "BIND",
		args: []string{"-net", "tcp"}},
	{directory: "ftp", client: "jlaffaye/ftp", server: "vsftpd"},
	{directory: "smtp", client: "emersion/go-smtp", server: "OpenSMTPD"},
	{directory: "imap", client: "emersion/go-imap", server: "Dovecot"},
	{directory: "etcd", client: "etcd/client/v3", server: "etcd"},
	{directory: "http", config: "nginx", client: "net/http", server: "nginx"},
	{directory: "http", config: "nginx-tls", client: "net/http, TLS", server: "nginx",
		args: []string{"-site", "https://127.0.0.1:8443"}},
	{directory: "http", config: "apache", client: "net/http", server: "Apache"},
	{directory: "http", config: "apache-tls", client: "net/http, TLS", server: "Apache",
		args: []string{"-site", "https://127.0.0.1:8443"}},
	{directory: "websocket", client: "gorilla/websocket", server: "websocketd"},
	{directory: "ldap", client: "go-ldap/ldap", server: "OpenLDAP slapd"},
	{directory: "nats", client: "nats-io/nats.go", server: "NATS"},
	{directory: "amqp", client: "rabbitmq/amqp091-go", server: "RabbitMQ"},
	{directory: "redigo", client: "gomodule/redigo", server: "Redis"},
	{directory: "memcache", client: "bradfitz/gomemcache", server: "memcached"},
}

// outcome is what tandem says of one check.
type outcome struct {
	Verdict    string
	Reason     string
	Violations []struct{ Message string }
	Counts     struct {
		Executions, Checkpoints int
		InMemory                int `json:"checkpoints_in_memory"`
		Seconds                 float64
	}
}

// TestServers: the bug of each program is found, and nothing is wrong with its fixed twin in as
// many executions at least. It prints the table of all.
func TestServers(t *testing.T) {
	var rows []string
	for _, p := range programs {
		if p.config == "" {
			p.config = "tandem"
		}
		row := fmt.Sprintf("%s\t%s", p.client, p.server)
		t.Run(strings.ReplaceAll(p.client+" "+p.server, "/", "."), func(t *testing.T) {
			if p.open != "" {
				row += "\tnot yet: " + p.open + "\t\t\t\t" + p.lines(t)
				t.Skip(p.open)
			}
			bug := p.check(t, "violated", "5000")
			row += fmt.Sprintf("\tviolated, %d", bug.Counts.Executions)
			fixed := p.check(t, "", fmt.Sprint(max(*executions, bug.Counts.Executions)), "-fixed")
			if fixed.Verdict != "holds" && fixed.Counts.Executions < bug.Counts.Executions {
				t.Errorf("%d executions without the bug, and %d to find it: give it more time",
					fixed.Counts.Executions, bug.Counts.Executions)
			}
			row += fmt.Sprintf("\t%s, %d\t%.1f\t%s\t%s", fixed.Verdict, fixed.Counts.Executions,
				float64(fixed.Counts.Executions)/fixed.Counts.Seconds, fixed.backend(), p.lines(t))
		})
		if strings.Count(row, "\t") == 1 && !t.Failed() {
			continue // it was not asked for
		}
		rows = append(rows, row)
	}
	header := "client\tserver\twith the bug\twithout\texecutions/s\tcheckpoints\tlines of YAML"
	t.Logf("\n%s", aligned(append([]string{header}, rows...)))
	if *update {
		writeTable(t, append([]string{header, strings.Repeat("---\t", 6) + "---"}, rows...))
	}
}

// TestSameEachTime: OpenSMTPD waits for a millisecond now and then, for itself. Whether a look
// falls into such a wait makes no difference, neither to the verdict nor to the executions that
// there are.
func TestSameEachTime(t *testing.T) {
	for _, p := range []program{
		{directory: "smtp", config: "tandem", flags: []string{"--strategy", "never"}},
		{directory: "smtp", config: "choices"},
	} {
		first := p.check(t, "holds", "100", "-fixed")
		for range 4 {
			if again := p.check(t, "holds", "100",
				"-fixed"); again.Counts.Executions != first.Counts.Executions {
				t.Errorf("%s.yaml %v: %d executions, and then %d",
					p.config, p.flags, first.Counts.Executions, again.Counts.Executions)
			}
		}
	}
}

// check checks the program; want is the verdict, or empty for any that is no violation.
func (p program) check(t *testing.T, want, executions string, args ...string) outcome {
	t.Helper()
	arguments := []string{"check", "./" + p.directory, "-c", filepath.Join(p.directory, p.config+".yaml"),
		"--json", "--search", "dpor",
		"--executions", executions, "--time", *most, "-o", filepath.Join(t.TempDir(), "counterexample")}
	arguments = append(append(append(append(arguments, p.flags...), "--"), p.args...), args...)
	var stderr bytes.Buffer
	cmd := exec.Command(tandem, arguments...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("tandem %q: %v\n%s%s", arguments, err, out, stderr.Bytes())
	}
	if want != "" && o.Verdict != want || want == "" && o.Verdict == "violated" {
		t.Fatalf("tandem %q: %s: %s %v\n%s", arguments, o.Verdict, o.Reason, o.Violations, stderr.Bytes())
	}
	return o
}

// backend says where the checkpoints were.
func (o outcome) backend() string {
	switch {
	case o.Counts.Checkpoints == 0:
		return "none"
	case o.Counts.InMemory == o.Counts.Checkpoints:
		return "memory"
	case o.Counts.InMemory == 0:
		return "CRIU"
	}
	return "memory and CRIU"
}

// lines counts those of the configuration that say something.
func (p program) lines(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.directory, p.config+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			n++
		}
	}
	if n > 5 {
		t.Errorf("%s: %d lines of configuration are more than 5", p.directory, n)
	}
	return fmt.Sprint(n)
}

func aligned(rows []string) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	w.Flush()
	return text.String()
}

// Between these lines README.md has the table.
const beginTable, endTable = "<!-- table -->\n", "<!-- end of table -->\n"

func writeTable(t *testing.T, rows []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), beginTable)
	old, after, ok2 := strings.Cut(rest, endTable)
	if !ok || !ok2 {
		t.Fatalf("README.md has no place for the table: %q and %q", beginTable, endTable)
	}
	var table strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&table, "| %s |\n", strings.ReplaceAll(row, "\t", " | "))
	}
	for line := range strings.Lines(old) { // of programs that were not checked this time
		cells := strings.SplitN(line, " | ", 3)
		if len(cells) == 3 && !strings.Contains(table.String(), cells[0]+" | "+cells[1]+" | ") {
			table.WriteString(line)
		}
	}
	if err := os.WriteFile("README.md", []byte(before+beginTable+table.String()+endTable+after),
		0o644); err != nil {
		t.Fatal(err)
	}
}
