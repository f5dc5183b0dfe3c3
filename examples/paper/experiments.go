package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// experiment is a program with its peers.
type experiment struct {
	name    string
	program string // package
	config  string // file; none if the peers are clients, which are made
	args    []string

	clients, messages int // peers that ask the program, and how often each of them does
}

// The most connections and messages on each of them.
const maxConnections, maxMessages = 5, 4

// experiments lists those of the table, in its order.
func experiments() (list []experiment) {
	for n := 2; n <= maxConnections; n++ {
		for m := 1; m <= maxMessages; m++ {
			list = append(list, experiment{
				name: fmt.Sprintf("ND alphabet client, %d x %d", n, m), program: "./examples/alphabet",
				config: "examples/alphabet/random.yaml",
				args:   []string{"-connections", fmt.Sprint(n), "-requests", fmt.Sprint(m)},
			})
		}
	}
	for n := 2; n <= maxConnections; n++ {
		for m := 1; m <= maxMessages; m++ {
			list = append(list, experiment{
				name:    fmt.Sprintf("ND alphabet server, %d x %d", n, m),
				program: "./examples/alphabet/server", clients: n, messages: m,
			})
		}
	}
	for n := 2; n <= maxConnections; n++ {
		list = append(list, experiment{
			name: fmt.Sprintf("HTTP client, merecat, %d connections", n), program: "./examples/httpget",
			config: "examples/httpget/tandem.yaml",
			args:   []string{"-n", fmt.Sprint(n)},
		})
	}
	for n := 2; n <= 3; n++ {
		e := experiment{
			name: fmt.Sprintf("downloader, %d threads", n), program: "./examples/download",
			config: "examples/download/tandem.yaml",
			args:   []string{"-threads", fmt.Sprint(n)},
		}
		list = append(list, e)
		e.name += ", with a bug"
		e.args = append(e.args, "-seek")
		list = append(list, e)
	}
	list = append(list, experiment{name: "ScpTo, Dropbear", program: "./examples/scpto",
		config: "examples/scpto/tandem.yaml"},
		experiment{name: "ScpTo fixed, Dropbear", program: "./examples/scpto/fixed",
			config: "examples/scpto/fixed/tandem.yaml"})
	for n := 1; n <= 2; n++ {
		list = append(list, experiment{
			name: fmt.Sprintf("ScpTo fixed, abstract server, %d x", n), program: "./examples/scpto/fixed",
			config: "examples/scpto/fixed/abstract.yaml",
			args:   []string{"-connections", fmt.Sprint(n)},
		})
	}
	return list
}

// configuration is the file with the peers, which is made in a directory if there is none.
func (e *experiment) configuration(directory string) (string, error) {
	if e.config != "" {
		return e.config, nil
	}
	text, err := clientsConfig(e.clients, e.messages)
	if err != nil {
		return "", err
	}
	name := filepath.Join(directory, "clients.yaml")
	return name, os.WriteFile(name, []byte(text), 0o644)
}

// clientsConfig is a configuration with so many clients of the alphabet server as peers. They
// ask for letters at random, and arrive in any order.
func clientsConfig(clients, messages int) (string, error) {
	program, err := filepath.Abs("bin/alphabet-client")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("peers:\n")
	for i := range clients {
		fmt.Fprintf(&b, "  - name: client%d\n", i+1)
		fmt.Fprintf(&b, "    command: [\"{scratch}/alphabet-client\", -addr, \"{sut}:7000\", "+
			"-connections, 1, -requests, %d, -random]\n", messages)
		b.WriteString("    after: listen 7000\n    expect: exit 0\n")
	}
	fmt.Fprintf(&b, "any_arrival: true\nfiles:\n  - {path: \"{scratch}/alphabet-client\", from: %q, mode: "+
		"\"0755\"}\n", program)
	return b.String(), nil
}
