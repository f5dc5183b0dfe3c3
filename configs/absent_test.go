package configs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBadAbsent: entries that mean nothing, or that contradict the peers, have a line and a reason.
func TestBadAbsent(t *testing.T) {
	manyAbsent := "absent:\n" + strings.Repeat("- a\n", maxAbsent+1)
	for text, want := range map[string]string{
		"absent: [127.0.0.1:80, 127.0.0.1:80]": "x.yaml:1: " +
			`absent[1]: "127.0.0.1:80" is there twice: leave it out`,
		"absent:\n- 127.0.0.1": "x.yaml:2: absent[0]: 127.0.0.1 is without a port: give one, such as " +
			"127.0.0.1:6379",
		"absent: ['::1']": "x.yaml:1: absent[0]: ::1 is without a port: give one, such as [::1]:6379",
		"absent:\n- 10.1.2.3:443\n- tcp//x": `x.yaml:3: absent[1]: "tcp//x" is neither an address nor a ` +
			"name: write 127.0.0.1:6379, [::1]:80, udp:127.0.0.1:53, unix:{scratch}/socket, or a name such " +
			"as db.example.com",
		"absent: ['']": `x.yaml:1: absent[0]: "" is neither an address nor a name: write 127.0.0.1:6379, ` +
			"[::1]:80, udp:127.0.0.1:53, unix:{scratch}/socket, or a name such as db.example.com",
		"absent: [db.test:80]": `x.yaml:1: absent[0]: "db.test:80" is a name with a port: leave the port ` +
			"out, since a name that nobody has is looked up without one",
		"absent: [localhost:80]": "x.yaml:1: absent[0]: localhost is a name that always exists: give the " +
			"address, such as 127.0.0.1:6379",
		"absent: [0.0.0.0:80]": "x.yaml:1: absent[0]: 0.0.0.0 is all addresses: name the one that is " +
			"dialled, such as 127.0.0.1:80",
		"absent: [127.0.0.1:0]": "x.yaml:1: absent[0]: there is no port: give one, such as " +
			"127.0.0.1:6379",
		"absent: ['udp6:[::1]:53']": "x.yaml:1: absent[0]: leave the 6 out, since the address is one of IPv6",
		"absent: ['udp 127.0.0.1:53 from 127.0.0.1:54']": "x.yaml:1: absent[0]: leave `from` out, since it " +
			"does not matter where the program sends from",
		manyAbsent: "x.yaml:1: absent: there are 101 entries, and 100 is the limit: leave some out",
		"peers: [{name: a, command: [a], listen: 127.0.0.1:80}]\nabsent: [127.0.0.1:81, '[::1]:80']": "" +
			"x.yaml:2: absent[1]: [::1]:80 is where peers[0] listens: leave out one of them",
		"peers: [{name: a, command: [a], after: listen 80}]\nabsent: [10.0.0.1:80, 127.0.0.1:80]": "" +
			"x.yaml:2: absent[1]: 127.0.0.1:80 is where the program is to listen for peers[0]: leave it out",
		"hosts: {db.test: 127.0.0.1}\nabsent: [DB.test]": "x.yaml:2: absent[0]: DB.test is the name of a " +
			"known host: see hosts, and the names of peers",
		// One that is wrong does not shift the numbers of the others.
		"peers: [{name: a, command: [a], listen: 127.0.0.1:80}]\nabsent: ['0.0.0.0:1', '127.0.0.1:80']": "" +
			"x.yaml:2: absent[0]: 0.0.0.0 is all addresses: name the one that is dialled, such as " +
			"127.0.0.1:1\n" +
			"x.yaml:2: absent[1]: 127.0.0.1:80 is where peers[0] listens: leave out one of them",
	} {
		_, err := parse("x.yaml", []byte(text), named)
		if err == nil || err.Error() != want {
			t.Errorf("%.80s\n(-want +got)\n%s", text, cmp.Diff(want, fmt.Sprint(err)))
		}
	}
}

// TestAbsent: every form of an entry, and that it is written as it was read.
func TestAbsent(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:6379": "", "'[::1]:80'": "[::1]:80", "10.1.2.3:443": "", "udp:127.0.0.1:53": "",
		"unix:/var/run/docker.sock": "", "unix:{scratch}/s": "unix:/run/tandem/s",
		"'unix:@name'": "unix:@name", "db.example.com": "", "db.example.com.": "db.example.com", "db": "",
	} {
		c, err := parse("x.yaml", []byte("absent:\n- "+text), named)
		if want == "" {
			want = text
		}
		if err != nil || len(c.Absent) != 1 || c.Absent[0].String() != want {
			t.Errorf("%s: %v, %v; want %s", text, c.Absent, err, want)
		}
	}
}
