package dials

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-mc/tandem/configs"
	"github.com/tandem-mc/tandem/report/text"
	"github.com/tandem-mc/tandem/sut"
)

// TestAbsent: where nobody is on purpose, nobody is missed. The rest is missed as before, and a
// check that dialled nothing else still says nothing.
func TestAbsent(t *testing.T) {
	refused := func(address string) sut.Dial {
		return sut.Dial{Address: at(t, address), Result: syscall.ECONNREFUSED}
	}
	dials := []sut.Dial{refused("127.0.0.1:81"), refused("[::1]:81"), refused("udp 127.0.0.1:81"),
		{Name: "db.test.", Result: syscall.ENOENT}}
	address := func(text string) configs.Absent { return configs.Absent{Address: at(t, text)} }
	for name, c := range map[string]struct {
		absent []configs.Absent
		missed string
	}{
		"none":             {nil, "127.0.0.1:81 db.test udp:127.0.0.1:81"},
		"the first stands": {[]configs.Absent{address("127.0.0.1:81")}, "db.test udp:127.0.0.1:81"},
		"the second only":  {[]configs.Absent{address("[::1]:81")}, "127.0.0.1:81 db.test udp:127.0.0.1:81"},
		"a name": {[]configs.Absent{{Name: "DB.test"}},
			"127.0.0.1:81 udp:127.0.0.1:81"},
		"other ports": {[]configs.Absent{address("127.0.0.1:82"), {Name: "test"}},
			"127.0.0.1:81 db.test udp:127.0.0.1:81"},
		"all": {[]configs.Absent{address("127.0.0.1:81"), address("udp 127.0.0.1:81"),
			{Name: "db.test"}}, ""},
	} {
		for _, list := range [][]sut.Dial{dials, slices.Concat(dials[1:], dials[:1])} {
			var s Set
			s.Add(&Notes{Dials: list})
			f := s.Found(nil, c.absent)
			var got []string
			for _, d := range f.Dialled {
				got = append(got, d.Address)
			}
			if text := strings.Join(got, " "); text != c.missed {
				t.Errorf("%s: %q, want %q", name, text, c.missed)
			}
			if (f.Vacuous == "") != (c.missed == "") || (f.Configure == nil) != (c.missed == "") {
				t.Errorf("%s: %q, %q", name, f.Vacuous, f.Configure)
			}
		}
	}
}

// TestUndialled: an entry that nothing was dialled for is named, and none that was, whatever came
// of it, also where something else was reached before.
func TestUndialled(t *testing.T) {
	var absent []configs.Absent
	for _, text := range []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4",
		"udp 127.0.0.1:5", "127.0.0.1:5"} {
		absent = append(absent, configs.Absent{Address: at(t, text)})
	}
	absent = append(absent, configs.Absent{Name: "DB.test"}, configs.Absent{Name: "dbs.test"})
	var s, again Set
	const first = "127.0.0.1:1 127.0.0.1:2 127.0.0.1:3 127.0.0.1:4 " +
		"udp:127.0.0.1:5 127.0.0.1:5 DB.test dbs.test"
	if got := strings.Join(s.Found(nil, absent).Undialled, " "); got != first {
		t.Errorf("without a dial: %s, want %s", got, first)
	}
	for _, d := range []sut.Dial{
		{Address: at(t, "127.0.0.1:9"), Result: 0}, // it is reached
		{Address: at(t, "127.0.0.1:1"), Result: syscall.ECONNREFUSED},
		{Address: at(t, "127.0.0.1:2"), Result: syscall.ETIMEDOUT},
		{Address: at(t, "127.0.0.1:3"), Result: 0},
		{Address: at(t, "127.0.0.1:4"), Serves: true}, // listening is no dial
		{Address: at(t, "127.0.0.1:5"), Own: true},
		{Name: "db.test.", Result: syscall.ENOENT},
	} {
		if !s.Add(&Notes{Dials: []sut.Dial{d}}) || s.Add(&Notes{Dials: []sut.Dial{d}}) {
			t.Errorf("%+v is not news, or is so twice", d)
		}
	}
	again.Add(s.Notes()) // as in a check that is gone on with
	for _, set := range []*Set{&s, &again} {
		const want = "127.0.0.1:4 udp:127.0.0.1:5 dbs.test"
		if got := strings.Join(set.Found(nil, absent).Undialled, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestAbsentAsSuggested: the line that the report prints can be copied, and then nobody is missed.
func TestAbsentAsSuggested(t *testing.T) {
	var s Set
	for _, text := range []string{"127.0.0.1:81", "[::1]:82", "udp 10.1.2.3:5", "unix @it's",
		"unix /run/tandem/x"} {
		s.Add(&Notes{Dials: []sut.Dial{{Address: at(t, text), Result: syscall.ECONNREFUSED}}})
	}
	s.Add(&Notes{Dials: []sut.Dial{{Name: "db.test.", Result: syscall.ENOENT}}})
	_, lines, ok := strings.Cut(text.Missed(s.Found(nil, nil).Missed), "or, if no peer is to be there:\n")
	if !ok {
		t.Fatal("nothing is suggested")
	}
	file := filepath.Join(t.TempDir(), "tandem.yaml")
	if err := os.WriteFile(file, []byte(strings.TrimSpace(lines)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := configs.Load(file)
	if err != nil {
		t.Fatalf("%v in %s", err, lines)
	}
	if f := s.Found(nil, config.Absent); len(f.Dialled) > 0 || f.Vacuous != "" {
		t.Errorf("%+v in spite of %s", f, lines)
	}
}
